"""Data sets from the Hugging Face hub, through the optional `datasets` package."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from shoal.types import Array

CHARACTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase  # the 62 classes in LEAF's order
LEAST_WRITERS, LEAST_SAMPLES = 3500, 800_000  # what FEMNIST has in any of its published versions


class Unavailable(Exception):
    """A source that does not have the data here and now, and why."""


def load(path: str, split: str) -> Any:
    """One split of a data set on the hub."""
    try:
        import datasets
    except ImportError as problem:
        raise Unavailable("needs the package datasets, install it with: pip install 'shoal[hub]'") from problem
    try:
        return datasets.load_dataset(path, split=split)
    except Exception as problem:  # whatever network, hub or cache raise: the next source is tried
        raise Unavailable(f"{type(problem).__name__} while downloading") from problem


def images(path: str, image: str, label: str) -> dict[str, Array]:
    """x_train, y_train, x_test, y_test of a data set of pictures."""
    arrays = {}
    for split in ("train", "test"):
        part = load(path, split)
        _need(part, image, label)
        arrays[f"x_{split}"] = np.stack([np.asarray(picture, np.uint8) for picture in part[image]])
        arrays[f"y_{split}"] = np.asarray(list(part[label]), np.uint8)
    return arrays


def femnist(path: str) -> dict[str, Array]:
    """x, y, client, client_names: writers as contiguous blocks, paper 255 and ink 0, classes in LEAF's order."""
    part = load(path, "train")
    _need(part, "image", "writer_id", "character")
    names, writer = np.unique(np.asarray(list(part["writer_id"])).astype(str), return_inverse=True)
    if len(names) < LEAST_WRITERS or len(writer) < LEAST_SAMPLES:
        raise Unavailable(f"{len(writer)} samples of {len(names)} writers are not FEMNIST")
    order = np.argsort(writer, kind="stable")
    x = np.empty((len(order), 28, 28), np.uint8)
    for i, picture in enumerate(part["image"]):
        x[i] = np.asarray(picture, np.uint8)
    if x[:1000].mean() < 128:  # ink bright on dark paper: the other polarity
        np.subtract(255, x, out=x)
    y = _characters(list(part["character"]), getattr(part, "features", {}).get("character"))
    return {
        "x": x[order],
        "y": y[order],
        "client": writer[order].astype(np.int32),
        "client_names": names,
    }


def _characters(values: list[Any], feature: Any) -> Array:
    """Class numbers from characters, or from numbers that the feature gives names to."""
    names = getattr(feature, "names", None)
    words = [v if isinstance(v, str) else names[v] if names else CHARACTERS[v] for v in values]
    number = {c: i for i, c in enumerate(CHARACTERS)}
    try:
        return np.array([number[w] for w in words], np.uint8)
    except KeyError as problem:
        raise Unavailable(f"unknown character {problem}") from problem


def _need(part: Any, *columns: str) -> None:
    missing = [c for c in columns if c not in part.column_names]
    if missing:
        raise Unavailable(f"no column {missing[0]!r} in it")
