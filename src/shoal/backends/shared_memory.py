"""Memory shared with worker processes: files without a name, handed over as descriptors. Nothing is left behind."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.backends.dumping import Dumper, load_with
from shoal.types import Array


class Block:
    """A piece of shared memory. `fd` can be sent to another process, which attaches to the same bytes."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd, self.size = fd, size
        self.map = mmap.mmap(fd, size)

    @classmethod
    def new(cls, size: int) -> Block:
        """Fresh memory: in /dev/shm while there is room, else in the folder for temporary files."""
        size = max(size, mmap.PAGESIZE)
        error: OSError | None = None
        for folder in ("/dev/shm", tempfile.gettempdir()):
            try:
                with tempfile.TemporaryFile(dir=folder) as file:
                    reserve(file.fileno(), size)
                    return cls(os.dup(file.fileno()), size)
            except OSError as e:
                error = e
        raise MemoryError(f"no room for {size / 1e6:.0f} MB of shared memory") from error

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any], at: int = 0) -> Array:
        """The block, from some byte on, seen as an array."""
        return np.frombuffer(self.map, dtype, math.prod(shape), at).reshape(shape)

    def close(self) -> None:
        os.close(self.fd)
        try:
            self.map.close()
        except BufferError:  # an array still looks at it; the memory goes with that array
            pass


def reserve(fd: int, size: int) -> None:
    """Give a file its size, and where the system can tell, make sure that there is room for it."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
    else:
        os.ftruncate(fd, size)


class Publisher(Dumper):
    """Pickles objects for workers; large arrays go into blocks, once each, and travel as a number."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: dict[int, Block] = {}
        self._next = 0

    def add(self, size: int) -> int:
        """A new block; its number."""
        self._next += 1
        self.blocks[self._next] = Block.new(size)
        return self._next

    def put(self, array: Array) -> int:
        """A block with this array."""
        number = self.add(array.nbytes)
        self.blocks[number].array(array.shape, array.dtype)[...] = array
        return number

    def drop(self, number: int) -> None:
        """Give a block back."""
        self.blocks.pop(number).close()

    def close(self) -> None:
        """Give all blocks back."""
        for number in list(self.blocks):
            self.drop(number)
        self.forget()


def load(data: bytes, blocks: Mapping[int, Block]) -> Any:
    """The other side of `Publisher.dump`: large arrays are read-only views of the blocks."""

    def find(number: int, shape: tuple[int, ...], dtype: str) -> Array:
        array = blocks[number].array(shape, np.dtype(dtype))
        array.flags.writeable = False
        return array

    return load_with(data, find)
