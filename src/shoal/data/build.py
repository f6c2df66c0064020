"""The one way from names to a federation: `build("mnist", "power-law", key)`, and a description of what it gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.datasets import DEFAULT_PARTITION, OWN, SOURCES, loader
from shoal.data.federation import Federation, Source
from shoal.data.partition import PARTITIONS, Partition
from shoal.data.spec import parse
from shoal.errors import BadInput, unknown
from shoal.seeds import Key
from shoal.types import Array

SAMPLE = 200  # clients that a description of an on-demand federation looks at


def build(data: str, partition: str | None = None, key: Key | None = None) -> Source:
    """Load a data set and deal it to clients.

    `data` is a name with arguments (`digits`, `mnist:unit`, `synthetic:1:1:clients=1000`, `folder:PATH`,
    `csv:PATH:client=site:label=y`); without a partition each data set has its own.

    >>> build("digits", "dirichlet:0.5:clients=10", Key(1)).roster.ids[:3]
    ('0', '1', '2')
    """
    key = Key(0) if key is None else key
    spec = parse(data)
    load = loader(spec.name)
    if spec.name in SOURCES:
        if partition is not None:
            raise BadInput(f"data {spec.name!r} comes with its own clients; leave partition out")
        source: Source = spec.make(load, "data set", key=key("data"))
        return source
    dataset: Dataset = spec.make(load, "data set")
    return partition_named(partition or DEFAULT_PARTITION[dataset.name])(dataset, key("partition"))


def is_own(data: str) -> bool:
    """Whether the data is the user's own, by path: it may change on disk, so what was built of it must not be kept.

    >>> is_own("csv:visits.csv:label=ill"), is_own("digits")
    (True, False)
    """
    return parse(data).name in OWN


def partition_named(text: str) -> Partition:
    """A partition from its name and arguments.

    >>> partition_named("permuted:2:clients=6")
    Permuted(groups=2, clients=6)
    """
    spec = parse(text)
    if spec.name not in PARTITIONS:
        raise unknown("partition", spec.name, PARTITIONS)
    return spec.make(PARTITIONS[spec.name], "partition")


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What a federation looks like. Label counts are over training and test samples of the clients looked at."""

    name: str
    clients: int
    train: int  # training samples of all clients
    samples: int | None  # training and test samples of all clients; None if only some were looked at
    distinct: int | None  # the same, counting a sample once that several clients have
    mean: float  # samples per client, of the clients looked at
    std: float
    smallest: int
    median: float
    largest: int
    classes: int
    classes_per_client: float
    groups: tuple[int, ...] | None  # clients of each planted group
    looked_at: tuple[str, ...]
    label_counts_NC: Array


def describe(source: Source, sample: int = SAMPLE) -> Statistics:
    """Sizes, classes and groups of a federation; of one produced on demand, of a sample of its clients.

    >>> stats = describe(build("digits", "iid:clients=10", Key(1)))
    >>> stats.clients, stats.samples, stats.smallest, stats.largest, stats.classes_per_client
    (10, 1797, 179, 180, 10.0)
    """
    ids = source.ids
    if not isinstance(source, Federation) and len(ids) > sample:
        order = np.argsort(Key(0)("describe").scores(source.roster.hashes_N))[:sample]
        ids = tuple(source.ids[i] for i in np.sort(order))
    label_counts = np.array([_label_counts(source, client) for client in ids])
    sizes = label_counts.sum(1)
    return Statistics(
        name=source.name,
        clients=len(source.ids),
        train=int(source.roster.sizes_N.sum()),
        samples=int(sizes.sum()) if len(ids) == len(source.ids) else None,
        distinct=_distinct(source) if isinstance(source, Federation) else None,
        mean=float(sizes.mean()),
        std=float(sizes.std()),
        smallest=int(sizes.min()),
        median=float(np.median(sizes)),
        largest=int(sizes.max()),
        classes=source.classes,
        classes_per_client=float((label_counts > 0).sum(1).mean()),
        groups=None if source.truth is None else tuple(np.bincount(source.truth).tolist()),
        looked_at=ids,
        label_counts_NC=label_counts,
    )


def _distinct(federation: Federation) -> int:
    parts = [federation.train, federation.test, *([federation.val] if federation.val else [])]
    return len(np.unique(np.concatenate([rows.index for rows in parts])))


def _label_counts(source: Source, client: str) -> Array:
    splits = [split for split in ("train", "test", "val") if source.has(split)]
    if isinstance(source, Federation):
        view = source.view_of(client)
        labels = [view.name(source.y[source.indices(client, split)]) for split in splits]
    else:
        data = source.client(client)
        labels = [data(split)[1] for split in splits]
    return np.bincount(np.concatenate(labels), minlength=source.classes)
