"""Finds the compiled kernels: of the variants that were built, the best that this processor can run."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

VARIANTS = ("base", "avx2", "avx512")  # in rising order; `level` in sgd.c counts the same way


@lru_cache(maxsize=1)
def native() -> tuple[str, ctypes.CDLL] | None:
    """The name of the variant in use and its library; None where nothing was built.

    >>> native() is None or native()[0] in VARIANTS
    True
    """
    built = {name: path for name in VARIANTS if (path := built_as(name)) is not None}
    if "base" not in built:
        return None
    level = ctypes.CDLL(str(built["base"])).level()
    best = [name for name in VARIANTS[: level + 1] if name in built][-1]
    return best, ctypes.CDLL(str(built[best]))


def built_as(name: str) -> Path | None:
    """Where a variant lies, if it was built when Shoal was installed."""
    here = Path(__file__).parent
    found = [here / f"_{name}{suffix}" for suffix in EXTENSION_SUFFIXES]
    return next((path for path in found if path.exists()), None)
