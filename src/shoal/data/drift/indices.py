"""The part of a federation that drift changes, as arrays: what a checkpoint saves of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.data.drift.scenario import splits
from shoal.data.federation import SPLITS, Federation
from shoal.data.samples import Ragged
from shoal.errors import BadInput
from shoal.types import Array

OTHERS = ("view", "truth")


def indices_of(federation: Federation) -> dict[str, Array]:
    """Who has which samples, views and planted groups, without the samples; the ids as UTF-8 bytes.

    Args:
        federation: Any federation in memory.

    Returns:
        Arrays by name: `ids`, then `index` and `offsets` of every split, `view` and `truth` if there are any.

    >>> fed = Federation.from_arrays({"a": (np.zeros((4, 1)), [0] * 4)}, test=0.25)
    >>> sorted(indices_of(fed))
    ['ids', 'test index', 'test offsets', 'train index', 'train offsets']
    """
    out = {"ids": np.frombuffer(json.dumps(federation.ids).encode(), np.uint8)}
    for split in splits(federation):
        rows: Ragged = getattr(federation, split)
        out |= {f"{split} index": rows.index, f"{split} offsets": rows.offsets}
    return out | {name: getattr(federation, name) for name in OTHERS if getattr(federation, name) is not None}


def with_indices(original: Federation, saved: Mapping[str, Array]) -> Federation:
    """The federation that `indices_of` was taken from, given one with the same samples.

    Args:
        original: A federation with the same samples.
        saved: What `indices_of` gave.

    Returns:
        A federation that shares the samples of the original.

    >>> fed = Federation.from_arrays({c: (np.zeros((4, 1)), [0] * 4) for c in "ab"})
    >>> with_indices(fed, indices_of(fed.keep(["b"]))).ids
    ('b',)
    """
    changed: dict[str, Any] = {"ids": tuple(json.loads(saved["ids"].tobytes()))}
    for split in SPLITS:
        index = saved.get(f"{split} index")
        if index is not None and index.max(initial=-1) >= len(original.y):
            raise BadInput(f"the saved indices are not of {original.name}, which has only {len(original.y)} samples")
        changed[split] = None if index is None else Ragged(index, saved[f"{split} offsets"])
    changed |= {name: saved.get(name) for name in OTHERS}
    return replace(original, **changed)


def same(a: Federation, b: Federation) -> bool:
    """Whether everybody has the same samples in both, of the same data.

    >>> fed = Federation.from_arrays({c: (np.zeros((4, 1)), [0] * 4) for c in "ab"})
    >>> same(fed.keep(["b"]), fed.keep(["b"])), same(fed, fed.keep(["b"]))
    (True, False)
    """
    if a is b:
        return True
    one, two = indices_of(a), indices_of(b)
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
