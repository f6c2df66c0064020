"""What a run will need, got ready before it is asked for: its data and, at the same time, the library of torch.

Opening that library is a tenth of a run's start. `import torch` lets nothing else happen meanwhile, a thread does.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from shoal.cli.arguments import named_as_file, split


def get_ready(words: Sequence[str]) -> None:
    """Build the federation that these words name, which is then kept for the run, while torch's library is opened.

    What is wrong with the words the run finds and tells; nothing is done for a sweep or a file of settings.
    """
    pairs, others = split(words)
    names = [pairs.get(key) for key in ("data", "partition", "data_seed", "seed")]
    if any("," in name for name in names if name) or any(map(named_as_file, others)):
        return
    from shoal.data.build import build_kept, is_own  # brings numpy, whose own libraries must not wait

    data, partition, data_seed, seed = names
    with opening(library()), suppress(Exception):
        if not is_own(data or "digits"):
            build_kept(data or "digits", partition, int(data_seed or seed or 0))


def library() -> Path | None:
    """The file of torch's large library, where this system has one.

    >>> found = library()
    >>> found is None or found.name
    'libtorch_cpu.so'
    """
    torch = find_spec("torch")
    if torch is None or torch.origin is None:
        return None
    path = Path(torch.origin).parent / "lib" / "libtorch_cpu.so"
    return path if path.is_file() else None


@contextmanager
def opening(path: Path | None) -> Iterator[None]:
    """A thread opens a library meanwhile, by a call that lets Python go on; if it cannot, whoever needs it says so."""
    if path is None:
        yield
        return
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.argtypes, dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    thread = Thread(target=dlopen, args=(os.fsencode(path), os.RTLD_NOW))
    thread.start()
    try:
        yield
    finally:
        thread.join()
