"""Data sets by name. A loader is imported when its data set is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from shoal.errors import unknown

# name -> module and function; a loader gives a Dataset, those in SOURCES take a key and give a federation
LOADERS = {
    "digits": "digits:digits",
    "mnist": "mnist:mnist",
    "fashion-mnist": "fashion_mnist:fashion_mnist",
    "cifar10": "cifar10:cifar10",
    "femnist": "femnist:femnist",
    "sent140": "sent140:sent140",
}
SOURCES = {"synthetic": "synthetic:synthetic", "folder": "own:folder", "csv": "own:csv"}
OWN = ("folder", "csv")  # files of the user, which may change between two runs
HINT = "Own data: folder:PATH or csv:PATH:client=COLUMN:label=COLUMN."

# what deals a data set to clients if the user names no partition
DEFAULT_PARTITION = {
    "digits": "permuted:groups=4:clients=20",
    "mnist": "power-law",
    "fashion-mnist": "ditto",
    "cifar10": "cluster-dirichlet",
    "femnist": "writers",
    "femnist:letters": "letters",
    "sent140": "writers:clients=all:least=10",
}


def loader(name: str) -> Callable[..., Any]:
    """The function that loads a data set.

    >>> loader("digits")().classes
    10
    """
    known = LOADERS | SOURCES
    if name not in known:
        raise unknown("data set", name, known, HINT)
    module, function = known[name].split(":")
    found: Callable[..., Any] = getattr(import_module(f"shoal.data.datasets.{module}"), function)
    return found
