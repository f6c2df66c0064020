from __future__ import annotations

import importlib.util

import pytest

from shoal.bench.engines import SOLVER, federation_of, layout_of, time_engines
from shoal.bench.run import MORE, NAMES


def test_clients_make_one_step_on_a_model_of_610_numbers() -> None:
    """60 inputs and 10 classes: 60 x 10 weights and 10 biases."""
    federation = federation_of(3)
    assert (layout_of(federation).size, SOLVER.steps_for(20)) == (610, 1)
    assert federation.roster.sizes(federation.ids) == [20, 20, 20]


def test_what_is_not_installed_is_said_and_the_rest_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    told: list[str] = []
    lines = list(time_engines([(2, 1)], 1, told.append))
    assert {line["clients"] for line in lines} == {2} and len(told) == len(lines)
    for line in lines:
        here = line["engine"].startswith("local")
        assert (line["cpu_ms"] is not None and line["cpu_ms"] > 0) == here
        assert line["note"] == ("" if here else "not installed")


def test_it_is_timed_only_for_who_asks() -> None:
    assert "engines" in MORE and "engines" not in NAMES
