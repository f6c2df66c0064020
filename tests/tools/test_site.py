"""The site of the documentation: nothing is missing from it, no link of it is dead, and it asks no other host."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from tests.report.conftest import PATIENCE, browser

import shoal

pytest.importorskip("mkdocs", reason="needs mkdocs: pip install 'shoal[docs]'")
from tools.site import departures, links, nav, notebooks, picture, reference

__all__ = ["browser"]
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")  # they may move a little from processor to processor
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def flat(entries: nav.Nav) -> list[str]:
    """The pages of a navigation."""
    values = [value for entry in entries for value in (entry.values() if isinstance(entry, dict) else [entry])]
    return [page for value in values for page in (flat(value) if isinstance(value, list) else [value])]


def test_the_navigation_has_every_page_once() -> None:
    found = flat(nav.navigation((DOCS / "README.md").read_text()))
    pages = {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")} - {"decisions/0000-template.md"}
    pages |= {p.relative_to(DOCS).with_suffix(".md").as_posix() for p in NOTEBOOKS} | set(links.SHOWN.values())
    assert sorted(found) == sorted(pages)


def test_the_reference_has_every_public_name_once() -> None:
    text = "\n".join(reference.pages().values())
    shown = [
        *re.findall(r"^::: shoal\.(\w+)$", text, re.MULTILINE),
        *re.findall(r"^## `shoal\.(\w+)`", text, re.MULTILINE),
    ]
    assert sorted(shown) == sorted(shoal.__all__)
    index = reference.index(reference.MARK)
    assert [name for name in shoal.__all__ if f"[`shoal.{name}`](api/" not in index] == []


def test_the_packages_for_methods_are_shown_whole() -> None:
    for path, text in reference.package_pages().items():
        module = importlib.import_module(Path(path).stem)
        things = {name: getattr(module, name) for name in module.__all__}
        told = {name for name, thing in things.items() if inspect.isclass(thing) or inspect.isfunction(thing)}
        shown = re.findall(rf"^::: {re.escape(module.__name__)}\.(\w+)$", text, re.MULTILINE)
        assert {*shown} == told - {*shoal.__all__}
        assert len(shown) == len({*shown})


def test_every_package_that_may_have_a_public_name_has_an_area() -> None:
    packages = [package for _, _, packages in reference.AREAS.values() for package in packages]
    assert len(packages) == len(set(packages))
    assert {reference.home(name).split(".")[1] for name in shoal.__all__} <= set(packages)


def test_the_picture_has_the_figures_of_the_demo() -> None:
    assert picture.FILE.read_text() == picture.picture()
    assert f"is right in {picture.shares()['fedavg']:.0f} % of cases" in (DOCS / "README.md").read_text()
    assert f"for each is right in {picture.shares()['flexcfl']:.0f} %." in (DOCS / "README.md").read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_run_and_say_what_is_written_in_them(path: Path) -> None:
    written = [notebooks.words(cell["outputs"]) for cell in notebooks.code(notebooks.cells(path))]
    assert any(written)
    for now, then in zip(notebooks.outputs(path), written, strict=True):
        assert len(notebooks.words(now)) == len(then)
        for a, b in zip(notebooks.words(now), then, strict=True):
            assert NUMBER.sub("0", a) == NUMBER.sub("0", b)
            assert [float(n) for n in NUMBER.findall(a)] == pytest.approx(
                list(map(float, NUMBER.findall(b))), 0.05, 0.02
            )


def test_a_page_shows_the_cells_and_pictures_of_its_notebook() -> None:
    page = notebooks.markdown(DOCS / "notebooks" / "first-steps.ipynb")
    assert page.startswith("# ")
    assert page.count("```python\n") == len(notebooks.code(notebooks.cells(DOCS / "notebooks" / "first-steps.ipynb")))
    assert "data:image/svg+xml;base64," in page


def test_departures_become_links() -> None:
    from markdown import markdown

    made = markdown("See D12, [D7](x.md) and `D3`.\n\n# D1 so", extensions=[departures.makeExtension()])
    assert made == (
        '<p>See <a href="/departures.md#d12">D12</a>, <a href="x.md">D7</a> and <code>D3</code>.</p>\n<h1>D1 so</h1>'
    )


def test_the_citation_names_the_papers_as_their_pages_do() -> None:
    import yaml

    said = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert said["repository-code"] == said["url"] == said["preferred-citation"]["url"] == links.REPOSITORY
    assert said["title"] == said["preferred-citation"]["title"]
    assert said["authors"] == said["preferred-citation"]["authors"]
    pages = {path: " ".join(path.read_text().split()) for path in (DOCS / "algorithms").glob("*.md")}
    for paper in said["references"]:
        where = paper.get("url") or paper["conference"]["name"]
        assert any(where in page and f"*{paper['title']}*" in page for page in pages.values()), paper["title"]
    assert len(said["references"]) == 6  # the five papers, and the long version of CFL's, which has the address


class Read(HTMLParser):
    """The targets and links of a built page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for key, value in attributes:
            if key in ("id", "name") and value:
                self.ids.add(value)
            if key in ("href", "src") and value:
                self.links.append((tag, value))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "mkdocs", "build", "-d", str(folder)]  # with -q warnings would not count
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "WARNING" not in done.stderr
    return folder


def dead_and_fetched(site: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Links of all pages that lead nowhere, and what pages would load from another host."""
    pages = {page.relative_to(site).as_posix(): Read(page) for page in site.rglob("*.html")}
    dead, fetched = [], []
    for name, page in pages.items():
        for tag, link in page.links:
            parts = urlsplit(urljoin(f"http://site/{name}", link))
            if parts.netloc != "site" or parts.scheme != "http":
                fetched += [(name, link)] if tag != "a" and parts.scheme != "data" else []
            elif name != "404.html":  # its links begin at the root of wherever the site is
                path, anchor = unquote(parts.path).lstrip("/") or "index.html", unquote(parts.fragment)
                if not (site / path).is_file() or (anchor and path in pages and anchor not in pages[path].ids):
                    dead.append((name, link))
    return dead, fetched


def test_dead_links_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text('<a href="a/b.html#x">1</a> <a href="a/b.html#y">2</a> <img src="c.png">')
    (tmp_path / "a" / "b.html").write_text(
        '<p id="x"></p><a href="../index.html">3</a><script src="//cdn/x.js"></script>'
    )
    dead, fetched = dead_and_fetched(tmp_path)
    assert dead == [("index.html", "a/b.html#y"), ("index.html", "c.png")]
    assert fetched == [("a/b.html", "//cdn/x.js")]


@pytest.mark.slow
def test_links_of_the_site_lead_somewhere(site: Path) -> None:
    assert len([*site.rglob("*.html")]) > 80
    assert dead_and_fetched(site) == ([], [])


@pytest.mark.slow
def test_every_public_name_has_its_place_on_the_site(site: Path) -> None:
    ids = set().union(*(Read(page).ids for page in (site / "api").glob("*.html")))
    assert {reference.anchor(name) for name in shoal.__all__} <= ids
    assert {"shoal.Federation.from_arrays", "shoal.Run.predict"} <= ids


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_every_page_opens_without_an_error_and_asks_no_other_host(site: Path, address: str, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme="dark")
    page, wrong = context.new_page(), list[str]()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda said: wrong.append(f"{page.url}: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith((address, "data:")) else None)
    for path in sorted(site.rglob("*.html")):
        answer = page.goto(address + path.relative_to(site).as_posix(), wait_until="load")
        assert answer.ok
        if path.name != "404.html":
            assert page.locator("article h1").count() == 1, path
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, f"{path} is wider than a phone"
    context.close()
    assert wrong == []
