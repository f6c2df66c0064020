"""Things by name that may come from a file or a package of somebody else's: which keys name them, and their origins."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.aggregators import AGGREGATORS
from shoal.algorithms import ALGORITHMS
from shoal.data.datasets import DATASETS
from shoal.data.partition import PARTITIONS
from shoal.data.spec import parse
from shoal.metrics import METRICS
from shoal.models import MODELS
from shoal.objectives import OBJECTIVES
from shoal.registry import Registry, origins, recover
from shoal.registry.origins import Origin
from shoal.setup.settings import LISTS

__all__ = ["origins_of", "recover_origins", "with_names"]

REGISTRIES: Mapping[str, Registry[Any]] = {  # by key
    "algorithm": ALGORITHMS,
    "data": DATASETS,
    "partition": PARTITIONS,
    "model": MODELS,
    "aggregate": AGGREGATORS,
    "task": OBJECTIVES,
    "metrics": METRICS,
    "score": METRICS,
}


def with_names(pairs: Mapping[str, Any]) -> dict[str, Any]:
    """The pairs with a name wherever one says `FILE.py:NAME`: the file is imported, and what it has is declared.

    Args:
        pairs: Keys and values.

    Returns:
        New pairs.

    >>> with_names({"data": "digits", "lr": 0.1})
    {'data': 'digits', 'lr': 0.1}
    """
    return {key: named(key, value) for key, value in pairs.items()}


def named(key: str, value: Any) -> Any:
    """One value of a key."""
    if key not in REGISTRIES or not isinstance(value, str):
        return value
    traits = {"own_files": True} if key == "data" else {}
    return ",".join(REGISTRIES[key].named(one, **traits) for one in (value.split(",") if key in LISTS else [value]))


def origins_of(config: Mapping[str, Any]) -> list[Origin]:
    """The files and packages that a run needs beside Shoal.

    Args:
        config: Resolved settings, with the algorithm.

    Returns:
        One entry for each.

    >>> origins_of({"algorithm": "fedavg", "data": "digits", "model": "mclr"})
    []
    """
    texts = {key: str(config[key]) for key in REGISTRIES if config.get(key) is not None}
    names = {
        key: [
            name
            for one in (text.split(",") if key in LISTS else [text])
            if (name := parse(one).name) in REGISTRIES[key]
        ]
        for key, text in texts.items()
        if text and not text.startswith("<")
    }
    return origins({key: ",".join(found) for key, found in names.items() if found}, REGISTRIES)


def recover_origins(entries: Sequence[Origin], folder: Path, *verb: object) -> bool:
    """Import the files that a run needs; what is not as it was is told in the log, or refused in one sentence.

    Args:
        entries: As its folder has them.
        folder: Of the run.
        verb: The command that needs them.

    Returns:
        Whether something is not as it was.

    >>> recover_origins([], Path("runs/first"), "resume", "runs/first")
    False
    """
    told = recover(entries, folder, verb, REGISTRIES)
    for sentence in dict.fromkeys(told):
        logging.getLogger("shoal").warning(sentence)
    return bool(told)
