"""The one way from names to a federation: `build("mnist", "power-law", key)`, and a description of what it gave."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.datasets import DATASETS, HINT, default_partition
from shoal.data.federation import Federation, Source
from shoal.data.partition import PARTITIONS, Partition
from shoal.data.spec import Spec, parse
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

SAMPLE = 200  # clients that a description of an on-demand federation looks at


def build(data: str, partition: str | None = None, key: Key | None = None) -> Source:
    """Load a data set and deal it to clients.

    `data` is a name with arguments (`digits`, `mnist:unit`, `synthetic:1:1:clients=1000`, `folder:PATH`,
    `table:PATH:client=site:label=y`, `images:PATH`); without a partition each data set has its own.

    Args:
        data: A data set by name, or a folder or table of your own.
        partition: What deals it to clients; None: what the data set declares.
        key: All randomness comes from it; None: that of seed 0.

    Returns:
        A federation, in memory or produced on demand.

    >>> build("digits", "dirichlet:0.5:clients=10", Key(1)).roster.ids[:3]
    ('0', '1', '2')
    """
    key = Key(0) if key is None else key
    spec = parse(DATASETS.named(data, own_files=True))
    load = DATASETS.find(spec.name, HINT)
    if DATASETS.traits(spec.name).get("has_clients") and partition is not None:
        raise BadInput(f"data {spec.name!r} comes with its own clients; leave partition out")
    takes_key = "key" in inspect.signature(load).parameters
    return deal(spec.make(load, "data set", **({"key": key("data")} if takes_key else {})), partition, key)


def deal(loaded: Any, partition: str | None, key: Key) -> Source:
    """A data set dealt to clients; what has clients already stays as it is.

    Args:
        loaded: What a loader gave: a data set, a federation, or arrays (x, y) by client.
        partition: What deals it; None: what the data set declares, else at random.
        key: All randomness comes from it.

    Returns:
        A federation.

    >>> deal(DATASETS["digits"](), "iid:clients=6", Key(0)).ids
    ('0', '1', '2', '3', '4', '5')
    """
    if isinstance(loaded, Dataset):
        return partition_named(partition or default_partition(loaded.name) or "iid")(loaded, key("partition"))
    source = as_source(loaded)
    if partition is not None:
        raise BadInput(f"{source.name} comes with its own clients; leave partition out")
    return source


def as_source(found: Any) -> Source:
    """What a function of the user's own gave, as a federation.

    Args:
        found: A federation, or arrays (x, y) by client.

    Returns:
        A federation.

    >>> as_source({"ann": (np.eye(4), [0, 1, 0, 1])}).ids
    ('ann',)
    """
    if isinstance(found, Mapping):
        return Federation.from_arrays(found)
    if not hasattr(found, "roster"):
        kind = type(found).__name__
        raise BadInput(f"a function that gives data gives a Dataset, a Federation or arrays by client, not {kind}")
    source: Source = found
    return source


@lru_cache(maxsize=1)
def build_kept(data: str, partition: str | None, seed: int) -> Source:
    """`build` from a seed, kept until another is asked for: the runs of a sweep over algorithms share one.

    Args:
        data: A data set by name; not one of the user's own, which may change on disk.
        partition: What deals it to clients; None: what the data set declares.
        seed: Of the partition.

    Returns:
        A federation, in memory or produced on demand.

    >>> build_kept("digits", None, 0) is build_kept("digits", None, 0)
    True
    """
    return build(data, partition, Key(seed))


def is_own(data: str) -> bool:
    """Whether the data is the user's own, by path: it may change on disk, so what was built of it must not be kept.

    >>> is_own("csv:visits.csv:label=ill"), is_own("digits")
    (True, False)
    """
    return parse(DATASETS.named(data, own_files=True)).name in DATASETS.having("own_files")


def partition_named(text: str) -> Partition:
    """A partition from its name and arguments.

    Args:
        text: Such as `dirichlet:0.1:clients=50`; `shoal list partitions` names them. A function of a file of your own,
            `mine.py:by_site`, is called with the data set and a key.

    Returns:
        A partition, not yet applied to a data set.

    >>> partition_named("iid:clients=6")
    IID(clients=6)
    """
    spec = parse(PARTITIONS.named(text))
    found = PARTITIONS.find(spec.name)
    if not isinstance(found, type) and {"dataset", "key"} <= set(inspect.signature(found).parameters):
        return OwnFunction(spec, found)
    return spec.make(found, "partition")


@dataclass(frozen=True)
class OwnFunction:
    """A function `(dataset, key, ...) -> Federation` as a partition, which promises nothing.

    Args:
        spec: Its name, and its further arguments.
        deal: The function.

    >>> from shoal.data.datasets.digits import digits
    >>> OwnFunction(parse("by_parity"), lambda dataset, key: partition_named("iid:clients=3")(dataset, key))(
    ...     digits(), Key(0)
    ... ).ids
    ('0', '1', '2')
    """

    spec: Spec
    deal: Callable[..., Any]
    covers: ClassVar[bool] = False
    disjoint: ClassVar[bool] = False

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        federation: Federation = self.spec.make(self.deal, "partition", dataset=dataset, key=key)
        return federation


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """What a federation looks like. Label counts are over training and test samples of the clients looked at.

    Attributes:
        name: Of the federation.
        clients: How many there are.
        train: Training samples of all clients.
        samples: Training and test samples of all clients; None if only some were looked at.
        distinct: The same, counting a sample once that several clients have.
        mean: Samples per client, of the clients looked at.
        std: Their standard deviation.
        smallest: Samples of the smallest client.
        median: Samples of the median client.
        largest: Samples of the largest client.
        classes: Number of classes; 0 where targets are none.
        classes_per_client: Classes that a client has on average.
        groups: Clients of each planted group; None without such groups.
        looked_at: The clients looked at.
        label_counts_NC: Samples by client and class; one column where targets are no classes.

    >>> describe(build("digits", "classes:2:clients=5", Key(1))).classes_per_client
    2.0
    """

    name: str
    clients: int
    train: int
    samples: int | None
    distinct: int | None
    mean: float
    std: float
    smallest: int
    median: float
    largest: int
    classes: int
    classes_per_client: float
    groups: tuple[int, ...] | None
    looked_at: tuple[str, ...]
    label_counts_NC: Array


def describe(source: Source, sample: int = SAMPLE) -> Statistics:
    """Sizes, classes and groups of a federation; of one produced on demand, of a sample of its clients.

    Args:
        source: A federation.
        sample: How many clients to look at if they are produced on demand.

    Returns:
        Its figures.

    >>> stats = describe(build("digits", "iid:clients=10", Key(1)))
    >>> stats.clients, stats.samples, stats.smallest, stats.largest, stats.classes_per_client
    (10, 1797, 179, 180, 10.0)
    """
    ids = source.ids
    if not isinstance(source, Federation) and len(ids) > sample:
        order = np.argsort(Key(0)("describe").scores(source.roster.hashes_N))[:sample]
        ids = tuple(source.ids[i] for i in np.sort(order))
    label_counts = np.array([_label_counts(source, client) for client in ids])
    sizes, of_classes = label_counts.sum(1), label_counts.shape[1] > 1
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
        classes=source.classes if of_classes else 0,
        classes_per_client=float((label_counts > 0).sum(1).mean()) if of_classes else 0.0,
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
        labels = [view.relabel(source.y[source.indices(client, split)]) for split in splits]
    else:
        data = source.client(client)
        labels = [data(split)[1] for split in splits]
    y = np.concatenate(labels)
    return np.bincount(y, minlength=source.classes) if y.ndim == 1 and y.dtype.kind in "biu" else np.array([len(y)])
