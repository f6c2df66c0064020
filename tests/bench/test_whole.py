"""A whole run is taken apart into what the user waits for; nothing here looks at a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from shoal.bench import whole
from shoal.bench.plain import PlainLoop
from shoal.bench.rounds import Contender
from shoal.bench.whole import Waited, arguments, figures, local_steps, time_run, wait_for
from shoal.bench.workloads import WORKLOADS, Workload
from shoal.errors import ShoalError


@pytest.fixture(scope="module")
def tiny() -> Workload:
    solver = replace(WORKLOADS["W7"].solver, epochs=1)
    return replace(WORKLOADS["W7"], data="synthetic:1:1:clients=6:memory=true:cap=80", cohort=2, solver=solver)


def test_the_parts_of_a_run_add_up_to_it() -> None:
    # Rest: 20 - 4 - 6 - 3 = 7. The quicker loop takes 2 s a round: 100 rounds 200 s, ten times the run.
    runs, starts = [Waited(20, 30, 6, 3)], [Waited(4, 5, 0, 0)]
    plain = [
        Contender("plain loop, 1 thread", print, 3, 1, [2], [2]),
        Contender("plain loop, 2 threads", print, 3, 2, [3], [6]),
    ]
    got = figures(runs, starts, plain, 100)
    assert got["parts"] == {"start": 4, "training": 6, "testing": 3, "rest": 7}
    assert (got["seconds"], got["cpu_seconds"]) == (20, 30)
    assert (got["plain_seconds"], got["ratio"], got["against"]) == (200, 10, "plain loop, 1 thread")


def test_w1_is_the_run_that_the_documentation_names() -> None:
    assert " ".join(arguments(WORKLOADS["W1"], 300)) == (
        "run fedavg data=mnist partition=power-law:classes=2 model=mnist-mclr clients_per_round=20 epochs=20 batch=10 "
        "lr=0.03 rounds=300"
    )


def test_the_plain_loop_plays_typical_rounds_beside_every_run(tiny: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    played: list[int] = []

    def wait(words: Sequence[str]) -> Waited:
        waited.append(words[-1])
        return Waited(1, 1, 0.25, 0.25)

    def play(loop: PlainLoop) -> float:
        loop.round += 1
        played.append(loop.round)
        return 0.0

    monkeypatch.setattr(whole, "wait_for", wait)
    monkeypatch.setattr(whole, "memory_in_rounds", lambda words, rounds: [7, 8])
    monkeypatch.setattr(PlainLoop, "__call__", play)
    federation, source = tiny.federation()
    got = time_run(tiny, federation, source, 8, 2, 2, lambda line: None)
    assert waited == ["rounds=0", *["rounds=0", "rounds=8"] * 2]  # the first warms up
    first, steps_T = played[0], local_steps(replace(tiny, rounds=8), federation)
    assert set(played) == {first, first + 1}
    assert got["steps_per_round"] == steps_T.mean()
    assert got["plain_steps_per_round"] == steps_T[first - 1 : first + 1].mean()
    windows = [abs(steps_T[i : i + 2].mean() - steps_T.mean()) for i in range(7)]
    assert windows[first - 1] == min(windows)
    assert got["command"].startswith("shoal run fedavg data=synthetic")
    assert got["memory"] == {"round": 5, "then": 7, "at_the_end": 8}


@pytest.mark.slow
def test_a_run_from_the_command_line(tiny: Workload) -> None:
    got = wait_for(arguments(tiny, 2))
    assert got.wall > got.training + got.testing > 0
    assert got.cpu > 0 and got.training > 0 and got.testing > 0


@pytest.mark.slow
def test_a_run_that_fails_says_why() -> None:
    with pytest.raises(
        ShoalError, match=r"timed failed \(shoal: unknown algorithm 'fedagv'.*try it by hand: shoal run"
    ):
        wait_for(["run", "fedagv"])
