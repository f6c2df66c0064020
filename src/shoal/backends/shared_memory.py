"""Memory shared with worker processes: files without a name, handed over as descriptors. Nothing is left behind."""

from __future__ import annotations

import io
import math
import mmap
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import cloudpickle
import numpy as np

from shoal.errors import BadInput
from shoal.types import Array

SHARED_BYTES = 1 << 20  # arrays from this size on are shared instead of copied into a message


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


class Publisher:
    """Pickles objects for workers; large arrays go into blocks, once each, and travel as a number."""

    def __init__(self) -> None:
        self.blocks: dict[int, Block] = {}
        self._known: dict[int, tuple[Array, int]] = {}  # id of an array -> (the array, its block)
        self._used: dict[str, set[int]] = {}  # topic -> ids of the arrays it needs
        self._next = 0

    def add(self, size: int) -> int:
        """A new block; its number."""
        self._next += 1
        self.blocks[self._next] = Block.new(size)
        return self._next

    def drop(self, number: int) -> None:
        self.blocks.pop(number).close()

    def dump(self, topic: str, thing: object) -> bytes:
        """The thing as bytes, in place of what the topic was before. Blocks that no topic needs are dropped."""
        used: set[int] = set()

        def share(obj: object) -> tuple[int, tuple[int, ...], str] | None:
            if type(obj) is not np.ndarray or obj.nbytes < SHARED_BYTES or obj.dtype.hasobject:
                return None
            if id(obj) not in self._known:
                number = self.add(obj.nbytes)
                self.blocks[number].array(obj.shape, obj.dtype)[...] = obj
                self._known[id(obj)] = (obj, number)
            used.add(id(obj))
            return self._known[id(obj)][1], obj.shape, obj.dtype.str

        stream = io.BytesIO()
        pickler = cloudpickle.CloudPickler(stream, protocol=5)
        pickler.persistent_id = share
        try:
            pickler.dump(thing)
        except (pickle.PicklingError, TypeError, AttributeError) as e:
            raise BadInput(f"the {topic} cannot be sent to worker processes ({e}); use engine=serial") from e
        self._used[topic] = used
        needed = set().union(*self._used.values())
        for name in [name for name in self._known if name not in needed]:
            self.drop(self._known.pop(name)[1])
        return stream.getvalue()

    def close(self) -> None:
        for number in list(self.blocks):
            self.drop(number)
        self._known, self._used = {}, {}


def load(data: bytes, blocks: Mapping[int, Block]) -> Any:
    """The other side of `Publisher.dump`: large arrays are read-only views of the blocks."""

    class Reader(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Array:
            number, shape, dtype = pid
            array = blocks[number].array(tuple(shape), np.dtype(dtype))
            array.flags.writeable = False
            return array

    return Reader(io.BytesIO(data)).load()


def dump_units(units: Sequence[object], tasks: Sequence[object]) -> bytes:
    """Units as bytes; the tasks, which may be of the user's making and are sent apart, as their numbers."""
    number = {id(task): i for i, task in enumerate(tasks)}
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5)
    pickler.persistent_id = lambda obj: number.get(id(obj))  # type: ignore[method-assign]
    pickler.dump(units)
    return stream.getvalue()


def load_units(data: bytes, tasks: Sequence[object]) -> Any:
    """The other side of `dump_units`."""
    reader = pickle.Unpickler(io.BytesIO(data))
    reader.persistent_load = tasks.__getitem__  # type: ignore[method-assign]
    return reader.load()
