"""Rounds beside processes that never rest: how much slower they are than alone, and how much slower is fair.

A system that shares its cores fairly gives every thread that has work the same. Who is slower than that explains waits
for something that does not come: threads that spin, or a piece of work that everybody waits for.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from shoal.bench.machine import Notify, child_environment, cores
from shoal.bench.rounds import Contender, make_contenders
from shoal.bench.workloads import WORKLOADS

Turn = tuple[float, float, float, float]  # seconds and processor seconds a round: alone, and beside others
BUSY = 2  # processes beside
LONG = 1.5  # seconds that a turn should take: many of the slices in which cores are shared


def time_busy(repeats: int, quick: bool, notify: Notify) -> list[dict[str, Any]]:
    """W1's rounds alone and beside busy processes, in turns; W7's, which need no files, where MNIST is missing."""
    for name in ("W1", "W7"):
        workload = WORKLOADS[name].quick() if quick else WORKLOADS[name]
        federation, source = workload.federation()
        if source == "real data":
            break
    layout = workload.layout(federation)
    with ExitStack() as stack:
        contenders = list(make_contenders(workload, federation, layout, False, stack))
        turns: dict[str, list[Turn]] = {c.name: [] for c in contenders}
        for c in contenders:
            took = c.turn(c.rounds)[0] * c.rounds  # warms up as well
            c.rounds *= 1 if quick else max(1, int(LONG / took))
        for number in range(repeats):
            notify(f"busy {workload.name}: turn {number + 1} of {repeats}")
            for c in contenders:
                turns[c.name].append((*c.turn(), *beside(c, BUSY)))
    results = [line(c, turns[c.name]) for c in contenders]
    return [{"workload": workload.name, "title": workload.title, "data": source, "busy": BUSY, "results": results}]


def beside(c: Contender, count: int) -> tuple[float, float]:
    """Seconds and processor seconds a round of a turn beside so many busy processes, which do not count."""
    with busy(count) as others:
        before = spent_by(others)
        wall, cpu = c.turn()
        return wall, cpu - (spent_by(others) - before) / c.rounds


def spent_by(processes: list[int]) -> float:
    """Processor seconds of some processes so far; 0 without /proc, where nobody counts those of children."""
    try:
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in processes) / 1e9
    except OSError:
        return 0.0


def line(c: Contender, turns: Sequence[Turn]) -> dict[str, Any]:
    """The figures of one contender."""
    workers = cores() if "workers" in c.name else c.threads
    return {
        "name": c.name,
        "ms_per_round": 1e3 * median(wall for wall, _, _, _ in turns),
        "ms_per_round_beside": 1e3 * median(wall for _, _, wall, _ in turns),
        "slower": median(beside / alone for alone, _, beside, _ in turns),
        "fair": fair_slowdown(workers, BUSY, cores()),
        "cpu_ratio": median(beside / alone for _, alone, _, beside in turns),
    }


def fair_slowdown(workers: int, busy: int, cores: int) -> float:
    """How many times slower threads are that share cores with busy processes, all having work all the time.

    Two on two cores have one each, and beside two others half of one; a single one has two thirds then.

    >>> fair_slowdown(2, 2, 2), fair_slowdown(1, 2, 2), fair_slowdown(1, 1, 2)
    (2.0, 1.5, 1.0)
    """
    alone, beside = min(1.0, cores / workers), min(1.0, cores / (workers + busy))
    return alone / beside


@contextmanager
def busy(count: int) -> Iterator[list[int]]:
    """So many processes count meanwhile, each with one thread; their numbers."""
    code = "print(flush=True)\nwhile True: pass"
    others = [
        subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, env=child_environment())
        for _ in range(count)
    ]
    try:
        for other in others:  # all of them have begun
            assert other.stdout is not None
            other.stdout.readline()
        yield [other.pid for other in others]
    finally:
        for other in others:
            other.kill()
            other.communicate()
