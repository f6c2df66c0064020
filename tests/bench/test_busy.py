from __future__ import annotations

import os
from pathlib import Path

import pytest

from shoal.bench.busy import busy, fair_slowdown, line, spent_by, time_busy
from shoal.bench.machine import cores
from shoal.bench.rounds import Contender
from shoal.bench.run import MORE, NAMES


@pytest.mark.parametrize(
    ("workers", "others", "machine", "slower"),
    [(1, 0, 2, 1), (4, 2, 2, 1.5), (1, 2, 1, 3), (2, 2, 8, 1), (3, 2, 4, 1.25)],
)
def test_fair_is_what_equal_shares_leave(workers: int, others: int, machine: int, slower: float) -> None:
    """Four on two cores have half of one each, and beside two more a third: 1.5 times slower."""
    assert fair_slowdown(workers, others, machine) == pytest.approx(slower)


def test_figures_by_hand() -> None:
    """Seconds and processor seconds a round, alone and beside, of three turns."""
    turns = [(0.1, 0.1, 0.2, 0.1), (0.1, 0.1, 0.3, 0.12), (0.2, 0.2, 0.5, 0.22)]
    got = line(Contender("plain loop, 1 thread", lambda: None, 1, threads=1), turns)
    assert (got["ms_per_round"], got["ms_per_round_beside"]) == (100, 300)
    assert got["slower"] == pytest.approx(2.5)
    assert got["cpu_ratio"] == pytest.approx(1.1)
    assert got["fair"] == fair_slowdown(1, 2, cores())
    assert line(Contender("shoal, 2 workers, native", lambda: None, 1), turns)["fair"] == fair_slowdown(
        cores(), 2, cores()
    )


@pytest.mark.skipif(not Path("/proc").exists(), reason="no list of processes here")
def test_the_processes_are_there_meanwhile_and_gone_afterwards() -> None:
    def children() -> set[str]:
        return {
            p.name
            for p in Path("/proc").iterdir()
            if p.name.isdigit() and (p / "stat").exists() and f") R {os.getpid()} " in (p / "stat").read_text()
        }

    before = children()
    with busy(2) as others:
        assert children() - before == set(map(str, others))
        while spent_by(others) == 0:  # they are given some time at last
            pass
    assert not children() - before
    assert spent_by(others) == 0  # of nobody


@pytest.mark.slow
def test_it_runs() -> None:
    (found,) = time_busy(1, quick=True, notify=lambda text: None)
    names = [r["name"] for r in found["results"]]
    assert names[0] == "plain loop, 1 thread"
    assert any(name.startswith("shoal, one process") for name in names)
    assert all(r["slower"] > 0 and r["fair"] >= 1 for r in found["results"])


def test_it_is_for_who_asks() -> None:
    assert "busy" in MORE and "busy" not in NAMES
