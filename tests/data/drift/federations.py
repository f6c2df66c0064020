"""Small federations for the tests of drift: made by hand from labels, and drawn at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shoal.data.federation import Federation
from shoal.data.samples import Ragged, View

SPLITS = ("train", "test", "val")


def made(clients: Mapping[str, Sequence[Sequence[int]]], **others: Any) -> Federation:
    """A federation from `{client: (training labels, test labels[, validation labels])}`; sample i holds i."""
    ids = tuple(sorted(clients))
    labels: list[int] = []
    rows: list[list[np.ndarray[Any, Any]]] = [[], [], []]
    for name in ids:
        for split, own in enumerate(clients[name]):
            rows[split].append(np.arange(len(labels), len(labels) + len(own)))
            labels += own
    return Federation(
        name="made",
        ids=ids,
        x=np.arange(len(labels))[:, None],
        y=np.array(labels),
        train=Ragged.of(rows[0]),
        test=Ragged.of(rows[1]),
        val=Ragged.of(rows[2]) if rows[2] else None,
        classes=max(labels) + 1,
        **others,
    )


def plain(n: int, size: int = 10) -> Federation:
    """n clients, each with samples of its own label alone: `size` for training, 2 for testing; truth is the client."""
    width = len(str(n - 1))
    clients = {f"{i:0{width}d}": ([i] * size, [i] * 2) for i in range(n)}
    return made(clients, truth=np.arange(n))


@st.composite
def federations(draw: st.DrawFn) -> Federation:
    """Up to nine clients with few labels, so that pairs with and without labels of their own occur; with views."""
    n, val = draw(st.integers(1, 9)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 9999)))

    def labels(least: int) -> list[int]:
        own = rng.choice(5, rng.integers(1, 4), replace=False)
        found: list[int] = rng.choice(own, rng.integers(least, 8)).tolist()
        return found

    clients = {f"c{i}": (labels(1), labels(0), labels(0))[: 3 if val else 2] for i in range(n)}
    views = (View(), View(labels=(1, 0, 2, 3, 4, 5)), View(turns=2))
    others = {"views": views, "view": rng.integers(0, 3, n)} if draw(st.booleans()) else {}
    return made(clients, truth=rng.integers(0, 3, n) if draw(st.booleans()) else None, **others)


def holdings(fed: Federation) -> Counter[tuple[Any, ...]]:
    """How often each (split, sample, view) is assigned to somebody."""
    return Counter(
        (split, int(i), fed.view_of(name))
        for split in SPLITS
        if fed.has(split)
        for name in fed.ids
        for i in fed.indices(name, split)
    )


def belongings(fed: Federation, client: str) -> tuple[Any, ...]:
    """All that belongs to a client: its samples of each split, its view, its planted group."""
    rows = tuple(tuple(fed.indices(client, split).tolist()) for split in SPLITS if fed.has(split))
    return rows, fed.view_of(client), None if fed.truth is None else int(fed.truth[fed.ids.index(client)])


def named(fed: Federation, client: str, split: str) -> list[int]:
    """The labels of a client's samples as it calls them, sorted."""
    return sorted(fed.view_of(client).relabel(fed.y[fed.indices(client, split)]).tolist())
