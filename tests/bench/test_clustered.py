"""Clustered methods meet the same clients and are tested on all; nothing here looks at a clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shoal.backends import Serial
from shoal.bench.clustered import Playing, line, methods, time_methods
from shoal.bench.workloads import WORKLOADS, Workload


@pytest.fixture(scope="module")
def tiny() -> Workload:
    solver = replace(WORKLOADS["W7"].solver, epochs=1)
    return replace(WORKLOADS["W7"], data="synthetic:1:1:clients=12:memory=true:cap=80", cohort=3, solver=solver)


def test_everybody_is_tested_in_rounds_that_count(tiny: Workload) -> None:
    federation, _ = tiny.federation()
    layout = tiny.layout(federation)
    playing = [Playing(m, federation, layout, Serial(), "one process") for m in methods(tiny)]
    for p in playing:
        assert p.last.round == 1
        p.play()
        assert p.last.row["partial"] is False
        p.contender.wall, p.contender.cpu = [1.0, 2.0], [1.0, 2.0]
    playing[1].contender.wall = [3.0, 4.0]  # against 1 and 2: 3 and 2 times FedAvg
    lines = [line(p, playing) for p in playing]
    assert [entry["method"] for entry in lines] == [
        "FedAvg",
        "IFCA",
        "FedGroup",
        "FlexCFL, with drift",
        "WeCFL, all clients",
        "CFL, all clients",
    ]
    assert [entry["clients_per_round"] for entry in lines] == [3, 3, 3, 3, 12, 12]
    assert {entry["tested"] for entry in lines} == {12}
    assert [entry["times_fedavg"] for entry in lines] == [1, 2.5, 1, 1, 1, 1]
    assert lines[1]["s_per_round"] == 3.5


def test_only_flexcfl_meets_drift(tiny: Workload) -> None:
    assert [m.name for m in methods(tiny) if m.drift.scenarios] == ["FlexCFL, with drift"]


@pytest.mark.slow
def test_methods_from_end_to_end(tiny: Workload) -> None:
    got = time_methods(tiny, 1, lambda line: None)
    assert len(got["results"]) == 12
    assert all(r["s_per_round"] > 0 and r["start_s"] > 0 and r["times_fedavg"] > 0 for r in got["results"])
