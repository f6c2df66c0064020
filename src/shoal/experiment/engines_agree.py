"""Whether engines agree on this machine: one short run on each, and a digest of all that it left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shoal.errors import ShoalError
from shoal.experiment.api import run
from shoal.experiment.result import Run
from shoal.loop.row import Row

SHORT: dict[str, Any] = {  # groups, drift, memory of clients, momentum: whatever an engine could get wrong
    "algorithm": "flexcfl",
    "federation": "digits",
    "rounds": 4,
    "groups": 3,
    "pretrain_steps": 10,
    "drift": "swap-all:0.2",
    "momentum": 0.5,
    "momentum_memory": "kept",
    "clients_per_round": 10,
    "selection": "round-robin-then-random",
    "eval_every": 2,
}


@dataclass(frozen=True)
class Digest:
    """What an engine left of the short run.

    Attributes:
        engine: Its name.
        digest: Of models, groups and records; empty where the engine is not available.
        why: Why it is not.

    >>> Digest("serial", "0f1e").why
    ''
    """

    engine: str
    digest: str = ""
    why: str = ""


def digest_of(result: Run) -> str:
    """A short hash of a run's models, groups and records, without times and what only a simulation can know.

    Args:
        result: The run.

    Returns:
        Sixteen characters.

    >>> import shoal
    >>> first, second = (shoal.run("fedavg", rounds=1, seed=s, engine="serial") for s in (0, 1))
    >>> digest_of(first) == digest_of(first), digest_of(first) == digest_of(second)
    (True, False)
    """
    rows = [known_everywhere(row) for row in result.history]
    whole = hashlib.blake2b(result.serving.models_KP.tobytes(), digest_size=8)
    whole.update(json.dumps(rows, sort_keys=True, default=str).encode())
    return whole.hexdigest()


def known_everywhere(row: Row) -> Row:
    """A record without times, and without the planted truth and drift, of which sites do not tell.

    >>> known_everywhere({"round": 1, "time": {}, "ari": 1.0, "members": {"ids": ["a"], "truth": [0]}})
    {'round': 1, 'members': {'ids': ['a']}}
    """
    kept = {key: value for key, value in row.items() if key not in ("time", "ari", "nmi", "drifted")}
    for key, part in kept.items():
        if isinstance(part, dict) and "truth" in part:
            kept[key] = {name: value for name, value in part.items() if name != "truth"}
    return kept


def run_engines(engines: Iterable[str], workers: int = 2, **settings: Any) -> Iterator[Digest]:
    """The digest of the short run on each engine; one that is not available says why.

    Args:
        engines: Their names.
        workers: Of each that has workers.
        settings: Keys of the run that are to be others.

    Yields:
        One after the other.

    >>> [found.digest != "" for found in run_engines(["serial"], rounds=1)]
    [True]
    """
    for engine in engines:
        try:
            yield Digest(
                engine, digest_of(run(**{**SHORT, **settings}, engine=engine, workers=workers, progress=False))
            )
        except ShoalError as e:
            yield Digest(engine, why=str(e))
