"""Times a whole run as its user waits for it: from the command to its end, with tests, records and checkpoints.

The plain loop plays a few rounds in between, and its time is multiplied to that of as many rounds as the run has. Of
the run all counts, its start, records and checkpoints; the loop has none of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from shoal.bench.machine import Notify, child_environment
from shoal.bench.plain import PlainLoop
from shoal.bench.rounds import Contender, plain_loops
from shoal.bench.workloads import WORKLOADS, Workload
from shoal.data.federation import Federation
from shoal.errors import ShoalError
from shoal.seeds import Key

ROUNDS, PLAIN = 300, 3  # of the run; of the plain loop, beside each run
QUICK = 5, 1
EARLY = 5  # after this round a run should need no more memory


# The same run from Python, which says what memory its processes hold after some rounds.
LOOK = """
import json, sys, shoal
from shoal.bench.machine import memory
class Look(shoal.Observer):
    def after_round(self, result):
        if result.round in json.loads(sys.argv[1]):
            print(memory())
pairs = dict(word.split("=", 1) for word in sys.argv[2:])
shoal.run("fedavg", pairs.pop("data"), pairs.pop("model"), observers=[Look()], **pairs)
"""


@dataclass(frozen=True)
class Waited:
    """What one command took, and what its records say of the rounds, in seconds."""

    wall: float
    cpu: float
    training: float
    testing: float


def time_whole(repeats: int, quick: bool, notify: Notify) -> list[dict[str, Any]]:
    """W1's run from the command line beside the plain loop; W7's, which needs no files, where MNIST is missing."""
    workload = WORKLOADS["W1"]
    federation, source = workload.federation()
    if source != "real data":
        workload = WORKLOADS["W7"]
        federation, source = workload.federation()
    return [time_run(workload, federation, source, *(QUICK if quick else (ROUNDS, PLAIN)), repeats, notify)]


def time_run(
    workload: Workload,
    federation: Federation,
    source: str,
    rounds: int,
    plain_rounds: int,
    repeats: int,
    notify: Notify,
) -> dict[str, Any]:
    """One workload: the run, the same without rounds, and the plain loop take turns."""
    fresh = replace(workload, rounds=rounds)
    steps_T = local_steps(fresh, federation)
    first = typical(steps_T, plain_rounds)
    plain = list(plain_loops(fresh, federation, workload.layout(federation), plain_rounds))
    runs, starts = list[Waited](), list[Waited]()
    notify(f"whole {workload.name}: warming up")
    wait_for(arguments(workload, 0))
    for number in range(repeats):
        notify(f"whole {workload.name}: run {number + 1} of {repeats}")
        starts.append(wait_for(arguments(workload, 0)))
        runs.append(wait_for(arguments(workload, rounds)))
        for c in plain:
            notify(f"whole {workload.name}: {c.name}")
            assert isinstance(c.play, PlainLoop)
            c.play.round = first - 1
            c.clocked_turn()
    notify(f"whole {workload.name}: memory")
    early, late = memory_in_rounds(arguments(workload, rounds), (min(EARLY, rounds), rounds))
    return {
        "workload": workload.name,
        "title": workload.title,
        "data": source,
        "command": " ".join(["shoal", *arguments(workload, rounds)]),
        "rounds": rounds,
        "clients": len(federation.ids),
        "clients_per_round": workload.cohort,
        "steps_per_round": float(steps_T.mean()),
        **figures(runs, starts, plain, rounds),
        "memory": {"round": min(EARLY, rounds), "then": early, "at_the_end": late},
        "plain_rounds": plain_rounds,
        "plain_steps_per_round": float(steps_T[first - 1 : first - 1 + plain_rounds].mean()),
    }


def figures(
    runs: Sequence[Waited], starts: Sequence[Waited], plain: Sequence[Contender], rounds: int
) -> dict[str, Any]:
    """Medians over repeats: the whole, its parts, the plain loop for as many rounds, and the ratio of the two."""
    best = min(plain, key=lambda c: median(c.wall))
    parts = {
        "start": [start.wall for start in starts],
        "training": [run.training for run in runs],
        "testing": [run.testing for run in runs],
        "rest": [run.wall - start.wall - run.training - run.testing for run, start in zip(runs, starts, strict=True)],
    }
    return {
        "name": "shoal run",
        "seconds": median(run.wall for run in runs),
        "cpu_seconds": median(run.cpu for run in runs),
        "parts": {name: median(several) for name, several in parts.items()},
        "plain_seconds": rounds * median(best.wall),
        "ratio": median(rounds * loop / run.wall for loop, run in zip(best.wall, runs, strict=True)),
        "against": best.name,
    }


def arguments(workload: Workload, rounds: int) -> list[str]:
    """What stands after `shoal` on the command line.

    >>> arguments(WORKLOADS["W7"], 5)[3:]
    ['model=mclr', 'clients_per_round=20', 'epochs=5', 'batch=10', 'lr=0.01', 'rounds=5']
    """
    how = workload.solver
    pairs: dict[str, Any] = {"data": workload.data, "partition": workload.partition, "model": workload.model}
    pairs |= {"clients_per_round": workload.cohort, "epochs": how.epochs, "batch": how.batch, "lr": how.lr}
    return ["run", "fedavg", *(f"{k}={v}" for k, v in pairs.items() if v is not None), f"rounds={rounds}"]


def wait_for(words: Sequence[str]) -> Waited:
    """Run Shoal with these words in a process of its own and an empty folder, as a user would."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "shoal", *words, f"out={out}"]
        cpu, began = children_seconds(), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=child_environment())
        wall, spent = time.perf_counter() - began, children_seconds() - cpu
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ShoalError(f"the run that was to be timed failed ({said}); try it by hand: shoal {' '.join(words)}")
        with (out / "records.jsonl").open() as lines:
            training, testing = spent_in_rounds(map(json.loads, lines))
    return Waited(wall, spent, training, testing)


def memory_in_rounds(words: Sequence[str], rounds: Sequence[int]) -> list[int]:
    """Bytes that the run of these words holds after some of its rounds; it is played once more, and not timed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", LOOK, json.dumps(rounds), *words[2:], f"out={Path(folder) / 'run'}"]
        done = subprocess.run(command, capture_output=True, text=True, env=child_environment(), check=True)
    return [int(size) for size in done.stdout.split()]


def children_seconds() -> float:
    """Processor time of all processes that this one started and that have ended."""
    now = os.times()
    return now.children_user + now.children_system


def spent_in_rounds(records: Iterable[Mapping[str, Any]]) -> tuple[float, float]:
    """Seconds of training and of testing of all rounds but that of the start, as records tell them.

    >>> spent_in_rounds([{"round": 0, "time": {"round": 9}}, {"round": 1, "time": {"round": 5, "evaluation": 2}}])
    (3.0, 2.0)
    """
    times = [record["time"] for record in records if record["round"]]
    testing = float(sum(t.get("evaluation", 0) for t in times))
    return float(sum(t["round"] for t in times)) - testing, testing


def local_steps(workload: Workload, federation: Federation) -> Any:
    """Local steps of the rounds 1, 2, ... of a workload, each of its different rounds once."""
    size, steps_for = federation.roster.size, workload.solver.steps_for
    cohorts = (workload.select(federation.roster, Key(0).at(t)) for t in range(1, workload.rounds + 1))
    return np.array([sum(steps_for(size(client)) for client in cohort) for cohort in cohorts])


def typical(steps_T: Any, span: int) -> int:
    """The first of so many rounds in a row whose mean of local steps is nearest to that of all rounds, from 1.

    >>> typical(np.array([9, 1, 5, 5, 1, 9]), 2)  # the mean is 5: rounds 1 and 2, and sooner than 3 and 4
    1
    >>> typical(np.array([9, 9, 4, 7, 1, 0]), 2)  # again 5: (4 + 7) / 2 is nearest
    3
    """
    means = np.convolve(steps_T, np.full(span, 1 / span), "valid")
    return int(np.argmin(np.abs(means - np.mean(steps_T)))) + 1
