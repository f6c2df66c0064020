"""Where data sets are looked for: `$SHOAL_DATA`, the user's cache folder, the Debian package."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from shoal.errors import DataMissing
from shoal.types import Array

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
IDX_FILES = {
    "x_train": "train-images-idx3-ubyte",
    "y_train": "train-labels-idx1-ubyte",
    "x_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}
SPLIT_ARRAYS = tuple(IDX_FILES)
NOT_FETCHED = ("sent140",)  # no public registry has it
FEMNIST_ARRAYS = ("x", "y", "client", "client_names")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's cache folder for data sets.

    >>> cache_folder({"XDG_CACHE_HOME": "/c"}).as_posix()
    '/c/shoal'
    """
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "shoal"


def find(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """The npz file of a data set, or the folder of its Debian package.

    >>> find("mnist", {"XDG_CACHE_HOME": "/nowhere"})
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: data set 'mnist' is not on this machine; run `shoal fetch mnist`, or ...
    """
    folders = [Path(environ["SHOAL_DATA"])] if environ.get("SHOAL_DATA") else []
    for folder in [*folders, cache_folder(environ)]:
        if (folder / f"{name}.npz").is_file():
            return folder / f"{name}.npz"
    if name == "fashion-mnist" and all((DEBIAN / f"{f}.gz").is_file() for f in IDX_FILES.values()):
        return DEBIAN
    fetch = "" if name in NOT_FETCHED else f"run `shoal fetch {name}`, or "
    raise DataMissing(f"data set {name!r} is not on this machine; {fetch}set SHOAL_DATA to a folder with {name}.npz.")


def read(name: str, wanted: tuple[str, ...]) -> dict[str, Array]:
    """The named arrays of a data set, wherever it is found."""
    path = find(name)
    try:
        if path.is_dir():
            return idx_set(lambda file: gzip.decompress((path / f"{file}.gz").read_bytes()))
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in wanted}
    except (OSError, EOFError, ValueError, KeyError, IndexError, zipfile.BadZipFile, zlib.error) as problem:
        mend = "put a good one in its place" if name in NOT_FETCHED else f"delete it and run `shoal fetch {name}`"
        raise DataMissing(f"{path} cannot be read as data set {name!r} ({problem}); {mend}.") from problem


def idx(raw: bytes) -> Array:
    """An array of bytes in the IDX format of MNIST.

    >>> idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9])).tolist()
    [7, 9]
    """
    if raw[:3] != b"\0\0\x08":
        raise ValueError("not an IDX file of bytes")
    shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4).astype(int)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def idx_set(read_file: Callable[[str], bytes]) -> dict[str, Array]:
    """The four arrays of a data set kept as four IDX files."""
    return {key: idx(read_file(file)) for key, file in IDX_FILES.items()}
