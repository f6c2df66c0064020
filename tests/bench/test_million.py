from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from shoal.bench.million import time_million
from shoal.bench.run import MORE, NAMES
from shoal.cli.bench_tables import tell_million
from shoal.cli.console import out
from tests.bench import tables

MEMORY = {"command": [500 * 10**6], "worker": [300 * 10**6, 310 * 10**6], "daemon": [40 * 10**6, 60 * 10**6]}
LINE: dict[str, Any] = {"engine": "ray", "clients": 10**6, "clients_per_round": 200, "cpu_ms": 1234.5, "memory": MEMORY}


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not tell")
def test_memory_is_told_by_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients on demand go to two worker processes, whatever the kernel."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told: list[str] = []
    local, ray = time_million(60, 4, 1, told.append)
    assert ray["note"] == "not installed" and len(told) == 2
    assert local["cpu_ms"] > 0 and (local["clients"], local["clients_per_round"], local["workers"]) == (60, 4, 2)
    assert {kind: len(sizes) for kind, sizes in local["memory"].items()} == {"command": 1, "worker": 2, "daemon": 0}
    assert min(local["memory"]["command"] + local["memory"]["worker"]) > 10**7


def test_it_is_timed_only_for_who_asks() -> None:
    assert {"million", "everybody"} <= {*MORE} and not {"million", "everybody"} & {*NAMES}


def test_tables_of_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """300 + 310 + 500 + 100 = 1,210 MB in all."""
    monkeypatch.setattr(tables, "results", lambda name, kind: [LINE])
    assert list(tables.million())[2:] == ["| ray | 1,234 | 500 MB | 300 MB, 310 MB | 100 MB | 1,210 MB |"]
    tell_million(out(), [LINE, {"engine": "ray", "note": "not installed"}])
    assert "1,000,000 clients on demand, 200 a round" in (said := capsys.readouterr().out) and "not installed" in said


def test_tables_of_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        {"clients": 20, "workers": 1, "engine": "local", "cpu_ms": 1.44, "note": ""},
        {"clients": 20, "workers": 1, "engine": "ray", "cpu_ms": None, "note": "not installed"},
    ]
    monkeypatch.setattr(tables, "results", lambda name, kind: found)
    assert list(tables.engines()) == [
        "| clients | workers | local | ray |",
        "| --- | --- | --- | --- |",
        "| 20 | 1 | 1.4 | not installed |",
    ]
