"""Finds the compiled kernels: of the variants that were built, the best that this processor can run."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from shoal.errors import BadInput

VARIANTS = ("base", "avx2", "avx512")  # in rising order; `level` in sgd.c counts the same way
WISH = "SHOAL_KERNEL_VARIANT"  # the variable that asks for one of them, or for none, instead of the best


@lru_cache(maxsize=1)
def native() -> tuple[str, ctypes.CDLL] | None:
    """The variant in use, by `SHOAL_KERNEL_VARIANT` or else the best one.

    Returns:
        Its name and its library; None where nothing was built, or none is wanted.

    >>> native() is None or native()[0] in VARIANTS
    True
    """
    wish = os.environ.get(WISH, "")
    if wish == "none":
        return None
    if wish not in ("", *VARIANTS):
        raise BadInput(f"{WISH}={wish} is not possible; use none or one of {', '.join(VARIANTS)}")
    built = {name: path for name in VARIANTS if (path := built_as(name)) is not None}
    level = ctypes.CDLL(str(built["base"])).level() if "base" in built else -1
    found = [name for name in VARIANTS[: level + 1] if name in built]
    if wish and wish not in found:
        here = f"what was built and runs on this processor is {', '.join(found) or 'nothing'}"
        raise BadInput(f"{WISH}={wish} is not possible: {here}; leave the variable out")
    if not found:
        return None
    name = wish or found[-1]
    return name, ctypes.CDLL(str(built[name]))


def why_none() -> str:
    """Why `native` gives None, as the end of a sentence about the kernel."""
    if os.environ.get(WISH) == "none":
        return f"it is switched off by {WISH}=none"
    return "it was not built when Shoal was installed, which needs a C compiler"


def built_as(name: str) -> Path | None:
    """Where a variant lies, if it was built when Shoal was installed."""
    here = Path(__file__).parent
    found = [here / f"_{name}{suffix}" for suffix in EXTENSION_SUFFIXES]
    return next((path for path in found if path.exists()), None)
