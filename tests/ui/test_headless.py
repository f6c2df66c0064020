"""The server of a run that nobody looks at: figures for Prometheus, on this machine alone."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from shoal.errors import BadInput
from shoal.ui.headless import metrics_at


def test_figures_are_answered_and_nothing_else(folder: Path) -> None:
    with metrics_at("127.0.0.1:0", folder / "sweep" / "ifca-seed=0") as place:
        with urllib.request.urlopen(place, timeout=60) as answer:
            assert 'shoal_rounds_total{run="ifca-seed=0"} 3\n' in answer.read().decode()
        for address, host, status in (
            (place[:-7], None, 404),
            (place, "evil.example", 421),
            (place + "/../x", None, 404),
        ):
            asked = urllib.request.Request(address, headers={"Host": host} if host else {})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked, timeout=60)
            assert refused.value.code == status
            refused.value.close()
    with pytest.raises(urllib.error.URLError):  # it has ended
        urllib.request.urlopen(place, timeout=60)


def test_no_address_is_no_server(tmp_path: Path) -> None:
    with metrics_at("", tmp_path) as place:
        assert place == ""


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0:9464", "has no password"),
        ("fl.example.org:9464", "has no password"),
        ("9464", "give HOST:PORT"),
        ("127.0.0.1:x", "give HOST:PORT"),
        ("127.0.0.1:70000", "give HOST:PORT"),
    ],
)
def test_an_address_that_cannot_be_is_refused(tmp_path: Path, address: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason), metrics_at(address, tmp_path):
        pass


def test_a_port_that_is_taken_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        said = f"metrics={taken} is not possible: .*; choose another port"
        with pytest.raises(BadInput, match=said), metrics_at(taken, tmp_path):
            pass


def test_it_needs_nothing_of_the_extra_ui() -> None:
    """A server of a federation has flwr, not plotly."""
    code = "import sys\nfor name in ('plotly', 'jinja2', 'starlette', 'uvicorn'): sys.modules[name] = None\n"
    subprocess.run([sys.executable, "-c", code + "import shoal.ui.headless"], check=True)
