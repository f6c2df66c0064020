"""The far end of the pool of Ray: an actor, which takes what it must know from the object store of its machine."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from shoal.backends.dumping import load_with
from shoal.backends.likeness import facts
from shoal.backends.ray_session import import_ray
from shoal.backends.worker import Worker, alone_on_its_core
from shoal.types import Array

News = tuple[str, str, Any, dict[int, Any]]  # topic, verb of a worker, arguments or where they lie, large arrays


class Actor:
    """What a worker does, between messages of Ray; one that could not take in what it was told refuses the rest."""

    def __init__(self, path: Sequence[str]) -> None:
        sys.path += [folder for folder in path if folder not in sys.path]  # where what is the user's own is found
        alone_on_its_core()
        self.worker = Worker()
        self.arrays: dict[str, dict[int, Array]] = {}  # by topic
        self.broken: Exception | None = None  # why it could not take in what it was told: then it is of no use

    def hello(self, news: Sequence[News]) -> tuple[dict[str, str], str, str]:
        """Take in the news; the facts of this machine, the name of its node, its address."""
        ray = import_ray()
        self.learn(news)
        return facts(), ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address()

    def run(self, news: Sequence[News], number: int, units: bytes) -> bytes:
        """Take in the news and run units; what they left."""
        self.learn(news)
        return self.worker.run(number, units, partial(pickle.dumps, protocol=5))

    def learn(self, news: Sequence[News]) -> None:
        if self.broken is not None:
            raise self.broken
        try:
            self.take_in(news)
        except Exception as e:
            self.broken = e
            raise

    def take_in(self, news: Sequence[News]) -> None:
        ray = import_ray()
        for topic, verb, data, refs in news:
            known = {number: array for arrays in self.arrays.values() for number, array in arrays.items()}
            self.arrays[topic] = {n: known[n] if n in known else ray.get(ref) for n, ref in refs.items()}
            content = data if isinstance(data, bytes) else ray.get(data)
            getattr(self.worker, verb)(*load_with(content, partial(self.find, topic)))

    def find(self, topic: str, number: int, shape: tuple[int, ...], dtype: str) -> Array:
        return self.arrays[topic][number]
