from __future__ import annotations

import importlib.util

import pytest

from shoal.bench.everybody import time_everybody
from shoal.cli.bench_tables import tell_everybody
from shoal.cli.console import out
from tests.bench import tables

LINE = {"clients": 1000, "workers": 2, "parameters": 578, "bytes": 2_328_000, "command_cpu_ms": 60.0, "cpu_ms": 110.0}


def test_without_ray_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told: list[str] = []
    found = list(time_everybody([(5, 8)], 1, told.append))
    assert found == [{"clients": 5, "workers": 2, "note": "not installed"}] and len(told) == 1
    tell_everybody(out(), [*found, LINE])
    assert "not installed" in (said := capsys.readouterr().out) and "110" in said


def test_the_table_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 ms for 1,000 clients are 0.06 ms each; 578 numbers of 4 bytes, a count and a loss of 8 are 2,328 bytes."""
    monkeypatch.setattr(tables, "results", lambda name, kind: [LINE])
    assert list(tables.everybody())[2:] == ["| 1,000 | 578 | 2 MB | 60 | 0.06 | 110 |"]


@pytest.mark.slow
def test_answers_are_counted() -> None:
    """A perceptron from 60 over 2 to 10: 60 x 2 + 2 + 2 x 10 + 10 = 152 numbers of 4 bytes, a count and a loss of 8."""
    pytest.importorskip("ray", reason="needs the package ray: pip install 'shoal[ray]'")
    (found,) = time_everybody([(3, 2)], 1, lambda line: None)
    assert (found["parameters"], found["bytes"]) == (152, 3 * (152 * 4 + 16))
    assert 0 < found["command_cpu_ms"] <= found["cpu_ms"]
