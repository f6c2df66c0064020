"""The benchmark counts and compares what it says; nothing here looks at a clock."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from shoal.backends import Serial
from shoal.bench.agreement import compare
from shoal.bench.machine import cpu_seconds, flops
from shoal.bench.plain import PlainLoop
from shoal.bench.rounds import Contender, cost, line, time_rounds
from shoal.bench.run import bench
from shoal.bench.workloads import WORKLOADS, RecurringCohorts, Workload
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.layout import torch_seed
from shoal.loop.plan import Plan
from shoal.loop.rounds import run_rounds
from shoal.seeds import Key


@pytest.fixture(scope="module")
def tiny() -> Workload:
    solver = replace(WORKLOADS["W7"].solver, epochs=2, lr=0.1)
    return replace(WORKLOADS["W7"], data="synthetic:1:1:clients=6:memory=true:cap=80", cohort=3, solver=solver)


def test_ratios_are_medians_over_turns() -> None:
    # Best plain loop by median: the second (2, 2, 2 against 3, 3, 9). Ratios 2/1, 2/0.5, 2/2: median 2.
    # Processor time against the loop of one thread: 4/2, 4/2, 4/4: median 2. Work 10 in 2 s, peak 50: a tenth.
    plain = [
        Contender("plain loop, 1 thread", print, 1, 1, [3, 3, 9], [4, 4, 4]),
        Contender("plain loop, 2 threads", print, 1, 2, [2, 2, 2], [8, 8, 8]),
    ]
    ours = Contender("shoal", print, 1, 1, [1, 0.5, 2], [2, 2, 4])
    got = line(ours, [*plain, ours], steps=100, work=10, peak=50)
    assert (got["ratio"], got["cpu_ratio"], got["against"]) == (2, 2, "plain loop, 2 threads")
    assert got["ms_per_step"] == pytest.approx(10)
    assert got["peak_fraction"] == pytest.approx(0.1)


def test_the_plain_loop_does_the_work_that_is_counted(tiny: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    federation, where = tiny.federation()
    layout = tiny.layout(federation)
    assert where == "real data"
    steps = 0
    inner = torch.optim.SGD.step

    def counted(self: torch.optim.SGD, *args: object) -> None:
        nonlocal steps
        steps += 1
        inner(self)

    monkeypatch.setattr(torch.optim.SGD, "step", counted)
    loop = PlainLoop(tiny, federation, layout)
    accuracies = [loop() for _ in range(tiny.rounds)]  # each of its different rounds once
    assert steps == pytest.approx(tiny.rounds * cost(tiny, federation, layout)[0])
    assert accuracies[-1] > 0.25  # ten classes, clients that contradict each other


def test_shoal_and_the_plain_loop_learn_alike(tiny: Workload) -> None:
    federation, _ = tiny.federation()
    layout = tiny.layout(federation)
    loop = PlainLoop(tiny, federation, layout)
    results = run_rounds(Plan(tiny.algorithm(), federation, layout, 10, 0), Engine(Serial(), layout))
    ours = [m.row["accuracy"] for m in results if m.round]
    with torch_seed(0):
        theirs = [loop() for _ in range(10)]
    assert abs(np.mean(ours[-5:]) - np.mean(theirs[-5:])) < 0.1  # other batches, few samples: the mean of five rounds


def test_chains_train_in_sequence(tiny: Workload) -> None:
    chained = replace(tiny, chains=2, cohort=4)
    federation, _ = chained.federation()
    assert [len(g) for g in chained.groups(federation.ids[:4])] == [2, 2]
    layout = chained.layout(federation)
    row = [m for m in run_rounds(Plan(chained.algorithm(), federation, layout, 1, 0), Engine(Serial(), layout))][-1].row
    assert row["traffic"]["train"]["down"] == 4


def test_every_turn_has_the_same_work() -> None:
    ids = tuple(f"{i:02d}" for i in range(30))
    roster = Federation.from_arrays({c: (np.eye(2), [0, 1]) for c in ids}, test=0).roster
    rounds = [RecurringCohorts(4, 3)(roster, Key(7).at(t)) for t in range(6)]
    assert rounds[:3] == rounds[3:]
    assert len(set(rounds)) == 3


def test_short_rounds_are_fresh() -> None:
    assert {name: w.rounds for name, w in WORKLOADS.items() if w.rounds > 1} == {"W1": 10, "W2": 10, "W7": 10}


def test_one_round_warms_up_and_a_turn_plays_all() -> None:
    played: list[int] = []
    contender = Contender("shoal", lambda: played.append(1), rounds=10)
    contender.turn(1)
    assert (len(played), contender.wall) == (1, [])
    contender.clocked_turn()
    assert (len(played), len(contender.wall), len(contender.cpu)) == (11, 1, 1)


def test_operations_are_those_of_products_and_convolutions() -> None:
    # 3x3 convolution of 2 maps to 4 on 6x6, no padding: 4x4 outputs, 2 (4 x 2 x 9 x 16) a sample; back: the weights.
    conv = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Flatten(), nn.Linear(64, 3))
    there = 2 * (4 * 2 * 9 * 16) + 2 * 64 * 3
    both = there + 2 * (4 * 2 * 9 * 16) + 2 * 2 * 64 * 3
    assert flops(conv, torch.zeros(5, 2, 6, 6), torch.zeros(5, dtype=torch.int64)) == (5 * both, 5 * there)


def test_random_inputs_stand_in_for_data_that_is_not_there(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    federation, where = WORKLOADS["W4"].federation(size=4)
    assert where == "random inputs"
    assert federation.shape == (3, 32, 32)


def test_unknown_workloads_are_refused() -> None:
    with pytest.raises(BadInput, match="unknown workload 'W9'"):
        bench(["W9"])


def test_processor_time_only_grows() -> None:
    before = cpu_seconds()
    assert sum(i * i for i in range(100_000)) and cpu_seconds() >= before


@pytest.mark.slow
def test_a_workload_from_end_to_end(tiny: Workload) -> None:
    got = time_rounds(tiny, 1, 1e11, False, lambda line: None)
    names = [r["name"] for r in got["results"]]
    assert names[0] == "plain loop, 1 thread"
    assert any("workers, torch" in name for name in names)
    assert all(r["ms_per_step"] > 0 and r["ratio"] > 0 for r in got["results"])


def test_ways_to_train_lie_close_together(tiny: Workload) -> None:
    got = compare(replace(tiny, cohort=2), lambda line: None)
    assert {entry["solver"] for entry in got} == {"fedavg", "fedprox", "momentum", "weight decay"}
    assert all(0 < entry["median"] <= entry["worst"] < 1e-4 for entry in got)


def test_threads_that_have_ended_count_as_processor_time() -> None:
    def work() -> None:
        while time.thread_time() < 0.05:
            pass

    before, thread = cpu_seconds(), threading.Thread(target=work)
    thread.start()
    thread.join()
    assert cpu_seconds() - before >= 0.05
