from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.conftest import Shoal

from shoal import backends
from shoal.backends import Serial
from shoal.errors import BadInput
from shoal.experiment import engines_agree


class Absent:
    def __init__(self, *asked: object) -> None:
        raise BadInput("engine=ray needs the package ray; install it with: pip install 'shoal[ray]'")


@pytest.fixture(autouse=True)
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.setup.prepare.RayWorkers", Absent)
    monkeypatch.setitem(engines_agree.SHORT, "rounds", 1)


def test_engines_agree_and_one_that_is_not_there_says_why(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.cli.selfcheck.find_spec", lambda name: None)
    result = shoal("selfcheck", "engines")
    serial, local, ray, flower, _, last = result.stdout.splitlines()
    assert result.exit_code == 0
    assert serial.split()[1] == local.split()[1]
    assert flower == "flower   not available: it needs the package flwr; install it with: pip install 'shoal[flower]'"
    assert ray.startswith("ray      not available: engine=ray needs the package ray; install it with: pip install")
    assert last == "equal: 2 engines, one result"


def test_sites_asked_by_messages_agree_with_simulation(shoal: Shoal) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    serial, local, _, flower, _, last = shoal("selfcheck", "engines").stdout.splitlines()
    assert flower.split()[0] == "flower" and serial.split()[1] == local.split()[1] == flower.split()[1]
    assert last == "equal: 3 engines, one result"


def test_engines_that_differ_are_found(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Serial):
        def run(self, units: Any, models_KP: Any) -> Any:
            return super().run(units, None if models_KP is None else models_KP + 1)

        def whole_cohort(self, *asked: Any) -> None: ...

    monkeypatch.setattr("shoal.setup.prepare.Workers", lambda workers: Wrong())
    result = shoal("selfcheck", "--format", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["equal"]) == (1, False)
    assert [e["engine"] for e in found["engines"]] == [*backends.BACKENDS, "flower"]
    assert "the digests differ" in shoal("selfcheck", "engines").stdout


def test_another_topic_is_refused(shoal: Shoal) -> None:
    result = shoal("selfcheck", "engine")
    assert result.exit_code == 2
    assert "unknown topic 'engine'" in result.stderr
