"""Who may look, and what a browser may do with the pages: checked before anything else, for every request."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.ui.hosts import host_of, is_expected, is_loopback, own_names

COOKIE = "shoal-token"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # plotly writes style attributes
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Only GET, only under an expected host, and only with the token if there is one."""

    def __init__(self, app: ASGIApp, host: str, token: str | None) -> None:
        self._app, self._token = app, token
        self._names, self._addresses = own_names(host), not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def safe_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in known]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, safe_send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not is_expected(host_of(headers.get("host", "")), self._names, self._addresses):
            return PlainTextResponse("use the address that shoal ui printed\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this is for looking only\n", 405, {"allow": "GET, HEAD"})
        if self._token is None:
            return None
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if self._fits(query.pop("token", "")):  # keep it in a cookie, and out of the address
            place = scope["path"] + (f"?{urlencode(query)}" if query else "")
            moved = RedirectResponse("/" + place.lstrip("/\\"), 303)
            moved.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
            return moved
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._fits(bearer) or self._fits(cookie(headers.get("cookie", ""))):
            return None
        return PlainTextResponse("the address needs the token that shoal ui printed\n", 401)

    def _fits(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def cookie(header: str) -> str:
    """The token in a Cookie header, or nothing.

    >>> cookie("a=b; shoal-token=xyz"), cookie("")
    ('xyz', '')
    """
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""
