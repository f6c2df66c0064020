"""The data sets by name, filled by the declaration on each loader: `@dataset("name", partition="iid")`.

A loader gives a `Dataset`; the trait `partition` deals it to clients if the user names none. With `has_clients=True` it
takes a key and gives a federation, with `may_have_clients=True` a key and gives either. `own_files=True`: files
of the user, which may change between two runs. A variant of a data set (`femnist:letters`) may have a partition of its
own, as a trait of the variant's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.registry import Registry

dataset = DATASETS = Registry[Callable[..., Any]]("data set", home="shoal.data.datasets")
HINT = "Own data: folder:PATH, table:PATH:client=COLUMN:label=COLUMN or images:PATH."


def default_partition(name: str) -> str | None:
    """What deals a data set to clients if the user names no partition; None if none was declared, or it has clients.

    Args:
        name: The name of a data set, or of one of its variants.

    Returns:
        A partition as text.

    >>> default_partition("mnist"), default_partition("femnist:letters"), default_partition("synthetic")
    ('power-law', 'letters', None)
    """
    base, _, variant = name.partition(":")
    traits = (
        DATASETS.traits(base) if base in DATASETS else {}
    )  # a function of the user's own names its data as it likes
    found: str | None = traits.get(variant) or traits.get("partition")
    return found
