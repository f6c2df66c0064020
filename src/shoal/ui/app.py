"""The pages and what they ask for. Everything is read, nothing is written; a run is named by its place in the list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from shoal.errors import BadInput, RunFolderError, ShoalError
from shoal.report.theme import THEMES
from shoal.ui.access import Guard
from shoal.ui.answers import document_of
from shoal.ui.metrics import KIND, exposition
from shoal.ui.runs import NONSENSE, Entry, Runs

PAUSE = 1.0  # seconds between two looks at the files
HEARTBEAT = 15  # looks without news after which a page is told that we are still here
FRESH = {"cache-control": "no-store"}
KEPT = {"cache-control": "private, max-age=86400"}
MAX_RUNS = 200  # runs in one comparison
MAX_STREAMS = 64  # pages that listen at once; each costs a look at the list a second
STATIC = {  # name: package, file and kind
    "app.js": ("shoal.ui", "static/app.js", "text/javascript"),
    "parts.js": ("shoal.ui", "static/parts.js", "text/javascript"),
    "style.css": ("shoal.ui", "static/style.css", "text/css"),
    "icon.svg": ("shoal.ui", "static/icon.svg", "image/svg+xml"),
    "chart.js": ("shoal.report", "static/chart.js", "text/javascript"),
    "page.css": ("shoal.report", "static/page.css", "text/css"),
    "plotly.js": ("plotly", "package_data/plotly.min.js", "text/javascript"),
}


def make_app(folder: Path, host: str, token: str | None, closing: Callable[[], bool] = lambda: False) -> ASGIApp:
    """The application for one folder; `closing` says when streams must end."""
    runs = Runs(folder)
    pages = Pages(runs, closing)
    routes = [
        Route("/", pages.index),
        Route("/static/{name}", pages.static),
        Route("/metrics", pages.metrics),
        Route("/api/runs", pages.runs),
        Route("/api/page", pages.page),
        Route("/api/events", pages.events),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={ShoalError: sentence}), host, token)


class Pages:
    """One method per address. Plain ones work in a thread, so that a slow disk holds nobody up."""

    def __init__(self, runs: Runs, closing: Callable[[], bool]) -> None:
        self._runs, self._closing = runs, closing
        self._listening = 0  # streams that are open

    def index(self, request: Request) -> Response:
        return Response(resource("index.html"), media_type="text/html", headers=FRESH)

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "theme.css":
            return Response(theme_css(), media_type="text/css", headers=FRESH)
        if name not in STATIC:
            return PlainTextResponse("there is no such file\n", 404)
        package, file, kind = STATIC[name]
        return Response(resource(file, package), media_type=kind, headers=KEPT if package == "plotly" else FRESH)

    def metrics(self, request: Request) -> Response:
        """The figures of all runs, for Prometheus."""
        return Response(exposition(self._runs.samples()), media_type=KIND, headers=FRESH)

    def runs(self, request: Request) -> Response:
        entries = self._runs.look()
        return json_of({"folder": self._runs.root.name or "/", "runs": [e.document() for e in entries.values()]})

    def page(self, request: Request) -> Response:
        """One run, or several side by side."""
        paths = list(dict.fromkeys(request.query_params.getlist("path")))
        if len(paths) > MAX_RUNS:
            raise BadInput(f"at most {MAX_RUNS} runs can be compared at once; shoal compare takes any number")
        folders = [self._runs.folder(path) for path in paths or [""]]
        try:
            return json_of(document_of(folders, self._runs.root, target_of(request)))
        except NONSENSE as e:
            raise RunFolderError(f"the files of this run make no sense: {type(e).__name__} {e}") from e

    async def events(self, request: Request) -> Response:
        """A stream of what changes in the list: entries that are new or other than before, and paths that are gone."""
        if self._listening >= MAX_STREAMS:
            return PlainTextResponse("too many pages are open\n", 503, {**FRESH, "retry-after": "10"})
        self._listening += 1
        return Listening(self._stream(request), self._left)

    def _left(self) -> None:
        self._listening -= 1

    async def _stream(self, request: Request) -> AsyncIterator[str]:
        told: dict[str, int] = {}
        quiet = HEARTBEAT
        while not self._closing() and not await request.is_disconnected():
            entries: dict[str, Entry] = await run_in_threadpool(self._runs.look)
            changed = [e.document() for e in entries.values() if told.get(e.path) != e.version]
            gone = [path for path in told if path not in entries]
            told = {e.path: e.version for e in entries.values()}
            quiet += 1
            if changed or gone:
                yield f"data: {json.dumps({'changed': changed, 'gone': gone})}\n\n"
                quiet = 0
            elif quiet >= HEARTBEAT:
                yield ": still here\n\n"
                quiet = 0
            await asyncio.sleep(PAUSE)


class Listening(StreamingResponse):
    """A stream that says when it has ended, however it ended."""

    def __init__(self, stream: AsyncIterator[str], ended: Callable[[], None]) -> None:
        super().__init__(stream, media_type="text/event-stream", headers=FRESH)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


def target_of(request: Request) -> float | None:
    text = request.query_params.get("target", "")
    try:
        return float(text) if text else None
    except ValueError as e:
        raise BadInput("a target is a number, such as an accuracy between 0 and 1") from e


async def sentence(request: Request, error: Exception) -> Response:
    """What is wrong, for the page to show."""
    return JSONResponse({"error": " ".join(str(error).split())}, 404, headers=FRESH)


def json_of(document: dict[str, Any]) -> Response:
    return JSONResponse(document, headers=FRESH)


def resource(name: str, package: str = "shoal.ui") -> bytes:
    return files(package).joinpath(name).read_bytes()


def theme_css() -> str:
    """The colours of the figures as variables of the page."""
    light, dark = ("".join(f"--{k}:{v};" for k, v in THEMES[name].items()) for name in ("light", "dark"))
    automatic = f"@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}color-scheme:dark}}}}"
    return f":root{{{light}color-scheme:light}}\n{automatic}\n:root[data-theme=dark]{{{dark}color-scheme:dark}}\n"
