"""What tests with real processes share: waiting, reading what a run wrote, and the simulation to compare with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support import Misbehaving, spoil

import shoal
from shoal.backends import Serial
from shoal.backends.backend import Outcome, Unit
from shoal.flower.rehearse import Learned, dealt, learned_models
from shoal.store.lines import read_lines
from shoal.types import Array

LIMIT = 1500.0  # seconds that a run may take on a machine that has much else to do
DATA = {"data": "digits", "partition": "permuted:clients=6", "seed": "1"}


def sites(count: int) -> dict[str, dict[str, str]]:
    """The node-configs of so many sites, which share the clients of `DATA`."""
    return {name: {**DATA, **own} for name, own in dealt(DATA, count).items()}


def until(condition: Callable[[], Any], what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file that may not be there yet."""
    return list(read_lines(path)) if path.is_file() else []


def rounds(out: Path) -> int:
    """How many rounds of a run are over."""
    return len(read_rows(out / "records.jsonl")) - 1


def events(out: Path, *kinds: str) -> list[dict[str, Any]]:
    """What a run noted, of some kinds or of all."""
    return [row for row in read_rows(out / "events.jsonl") if not kinds or row["kind"] in kinds]


def learned(out: Path) -> list[tuple[int, float, float]]:
    """Of every round how many trained, their mean loss, and how far their updates were apart."""
    rows = [row for row in read_rows(out / "records.jsonl") if row["round"] > 0]
    return [(row["trained"], row["loss"], row["discrepancy"]) for row in rows]


def simulated(
    run: str, out: Path, away: Mapping[int, set[str]] | None = None, data: Mapping[str, str] = DATA
) -> Learned:
    """The models of a simulation, in which some clients are not reached in some rounds."""
    name, *words = run.split()
    keys: dict[str, Any] = {**data, **dict(word.split("=") for word in words)}
    shoal.run(name, engine=Reached(away or {}), out=out, **keys)
    return learned_models(out)


def away(out: Path) -> dict[int, set[str]]:
    """By round the clients that were not there, or were left out of it."""
    gone: set[str] = set()
    found: dict[int, set[str]] = {}
    told = events(out, "joined", "left", "left out")
    for t in range(1, rounds(out) + 1):
        for event in (e for e in told if e["round"] == t and e["kind"] != "left out"):
            gone = gone | set(event["clients"]) if event["kind"] == "left" else gone - set(event["clients"])
        found[t] = gone | {e["client"] for e in told if e["round"] == t and e["kind"] == "left out"}
    return found


class Reached(Misbehaving):
    """Clients in this process, some of which do not answer in some rounds."""

    def __init__(self, away: Mapping[int, set[str]]) -> None:
        super().__init__(Serial(), {})
        self.away = away

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        silent = [dict.fromkeys(self.away.get(unit.key.round, ()), "no answer") for unit in units]  # type: ignore[attr-defined]
        return self.backend.run([spoil(u, who) for u, who in zip(units, silent, strict=True)], models_KP)
