"""Things as bytes for workers: large arrays travel as numbers and lie where workers find them, each once."""

from __future__ import annotations

import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from shoal.errors import BadInput
from shoal.types import Array

SHARED_BYTES = 1 << 20  # arrays from this size on are shared instead of copied into a message
Find = Callable[[int, tuple[int, ...], str], Array]  # number, shape and dtype of an array -> the array


class Dumper(ABC):
    """Pickles objects for workers. Where large arrays are put is for a subclass to say."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Array, int]] = {}  # id of an array -> (the array, its number)
        self._used: dict[str, set[int]] = {}  # topic -> ids of the arrays it needs

    @abstractmethod
    def put(self, array: Array) -> int:
        """Lay an array where workers find it; its number."""

    @abstractmethod
    def drop(self, number: int) -> None:
        """Nobody needs it any more."""

    def dump(self, topic: str, thing: object) -> bytes:
        """The thing as bytes, in place of what the topic was before. Arrays that no topic needs are dropped."""
        used: set[int] = set()

        def share(obj: object) -> tuple[int, tuple[int, ...], str] | None:
            if type(obj) is not np.ndarray or obj.nbytes < SHARED_BYTES or obj.dtype.hasobject:
                return None
            if id(obj) not in self._known:
                self._known[id(obj)] = (obj, self.put(obj))
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

    def numbers(self, topic: str) -> list[int]:
        """The arrays that a topic needs."""
        return [self._known[name][1] for name in self._used[topic]]

    def forget(self) -> None:
        """Nothing is known any more."""
        self._known, self._used = {}, {}


def load_with(data: bytes, find: Find) -> Any:
    """The other side of `Dumper.dump`."""

    class Reader(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Array:
            number, shape, dtype = pid
            return find(number, tuple(shape), dtype)

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
