"""Who may look: method, host, token; and what a browser is told it may do."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs starlette: pip install 'shoal[ui]'")
pytest.importorskip("httpx", reason="needs httpx")

from tests.ui.conftest import Client

from shoal.ui.access import COOKIE
from shoal.ui.app import make_app

TOKEN = "a-token-of-some-length"


def client(
    folder: Path, host: str = "127.0.0.1", token: str | None = None, base: str = "http://127.0.0.1:8765"
) -> Client:
    return Client(make_app(folder, host, token), base)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_is_for_looking_only(folder: Path, method: str) -> None:
    assert client(folder).request(method, "/api/runs").status_code == 405


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:99"])
def test_this_machine_is_expected(folder: Path, host: str) -> None:
    assert client(folder).get("/api/runs", headers={"host": host}).status_code == 200


STRANGE = [
    *("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "192.168.0.7", "", "localhost@evil.example"),
    *("localhost.evil.example", "evil.example#localhost", "[::1].evil.example", "localhost:80:evil", "127.1", "0x7f.1"),
]


@pytest.mark.parametrize("host", STRANGE)
def test_a_name_that_was_made_to_point_here_is_refused(folder: Path, host: str) -> None:
    for path in ("/", "/api/runs", "/static/app.js", "/nothing"):
        assert client(folder).get(path, headers={"host": host}).status_code == 421


def test_every_answer_carries_the_policy(folder: Path) -> None:
    for path, code in (("/", 200), ("/api/runs", 200), ("/static/nothing.js", 404), ("/nowhere", 404)):
        answer = client(folder).get(path)
        assert answer.status_code == code
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    refused = client(folder).get("/", headers={"host": "evil.example"})
    assert "content-security-policy" in refused.headers


def test_without_the_token_nothing_is_shown(folder: Path) -> None:
    outside = client(folder, "0.0.0.0", TOKEN)
    for path in ("/", "/api/runs", "/static/app.js", "/api/events", "/?token=wrong", "/api/runs?token="):
        answer = outside.get(path)
        assert answer.status_code == 401
        assert TOKEN not in answer.text


def test_the_token_moves_from_the_address_to_a_cookie(folder: Path) -> None:
    outside = client(folder, "0.0.0.0", TOKEN)
    answer = outside.get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert outside.get("/api/runs").status_code == 200  # the client kept the cookie
    assert client(folder, "0.0.0.0", TOKEN).get("/", headers={"cookie": f"{COOKIE}=wrong"}).status_code == 401


def test_the_token_in_a_header_is_enough(folder: Path) -> None:
    outside = client(folder, "0.0.0.0", TOKEN)
    assert outside.get("/api/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert outside.get("/api/runs", headers={"authorization": "Bearer wrong"}).status_code == 401


def test_the_token_does_not_lead_elsewhere(folder: Path) -> None:
    answer = client(folder, "0.0.0.0", TOKEN).get(f"http://127.0.0.1:8765//evil.example/?token={TOKEN}&a=b")
    assert answer.headers["location"] == "/evil.example/?a=b"


def test_bound_elsewhere_addresses_are_expected_and_strange_names_are_not(folder: Path) -> None:
    outside, head = client(folder, "0.0.0.0", TOKEN), {"authorization": f"Bearer {TOKEN}"}
    assert outside.get("/api/runs", headers={**head, "host": "10.1.2.3:8765"}).status_code == 200
    assert outside.get("/api/runs", headers={**head, "host": "evil.example"}).status_code == 421
