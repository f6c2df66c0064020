"""The records and protocols everything hangs on: rosters, tasks, answers, engines, algorithms.

Shapes are part of names: N clients of a cohort, K models, P numbers of a flat model, C classes, B samples of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from shoal.seeds import Key, hash_ids

if TYPE_CHECKING:
    from shoal.layout import Layout
    from shoal.net import Net
    from shoal.table import Serving

Array = npt.NDArray[Any]
Cohort = tuple[str, ...]
Answer = Mapping[str, Any]  # what leaves a client: name -> number or array
Memory = Mapping[str, Any]  # what a client keeps for itself between tasks


@dataclass(frozen=True)
class Roster:
    """Who is there: client ids in canonical (sorted) order, training sizes and published tags; fixed for a round."""

    ids: Cohort
    sizes_N: Array
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # client id -> what its owner publishes

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def hashes_N(self) -> npt.NDArray[np.uint64]:
        return hash_ids(self.ids)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.ids)}

    def size(self, client: str) -> int:
        return int(self.sizes_N.sum()) if client == EVERYBODY else int(self.sizes_N[self._place[client]])

    def sizes(self, cohort: Sequence[str]) -> list[int | None]:
        """The training sizes of several clients; None for those that are not there."""
        place, sizes_N = self._place, self.sizes_N
        if EVERYBODY in cohort:
            return [self.size(c) if c in self else None for c in cohort]
        return [None if (i := place.get(c)) is None else int(sizes_N[i]) for c in cohort]

    def __contains__(self, client: str) -> bool:
        return client in self._place or client == EVERYBODY


@dataclass(frozen=True)
class Ref:
    """Vectors that a client keeps and the engine holds once for all clients: rows of its library.

    `sent` marks rows of the models of the call itself, which the engine files under their final numbers.
    """

    rows: tuple[int, ...]
    flat: bool  # one vector, not a stack of them
    sent: bool = False


EVERYBODY = "*"  # a simulated engine knows one more client: the union of all training data


class ClientData(Protocol):
    """One client's samples: `data("train")` gives inputs and labels as numpy arrays."""

    def __call__(self, split: str) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Field:
    """What one entry of an answer must look like: its kind, its shape in letters (P, K, C) and its bounds.

    `count` is the weight of a client: a whole number from 1 to 10^9, at most ten times the announced size. A field
    called `choice` is the number of a model or group, and becomes `which_N` of the answers.
    """

    kind: Literal["float", "int", "count"]
    shape: tuple[str, ...] = ()
    low: float | None = None
    high: float | Literal["K"] | None = None  # K: a number of one of the models sent


@runtime_checkable
class Task(Protocol):
    """What happens on one client, on its own data: a frozen record with one pure function."""

    @property
    def name(self) -> str: ...

    @property
    def models(self) -> Literal["one", "all", "none"]: ...

    @property
    def fields(self) -> Mapping[str, Field]: ...

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]: ...

    def work(self, samples: int, models: int) -> tuple[int, int]:
        """Samples sent forward and backward through a model on a client with so many training samples."""
        ...


@dataclass(frozen=True)
class Failure:
    """A client that was left out of a call, and why."""

    client: str
    reason: str


@dataclass(frozen=True)
class Answers:
    """The answers of the clients that succeeded, stacked in canonical order, and the list of the others.

    >>> got = Answers(("a", "b"), np.array([0, 0]), {"loss": np.array([0.5, 0.7])})
    >>> got["loss"].mean().round(2)
    np.float64(0.6)
    """

    cohort: Cohort
    which_N: Array  # the model each client started from or chose
    fields: Mapping[str, Array] = field(default_factory=dict)
    failed: tuple[Failure, ...] = ()
    models_KP: Array | None = None  # the models that were sent

    def __getitem__(self, name: str) -> Array:
        return self.fields[name]

    def __len__(self) -> int:
        return len(self.cohort)

    def __iter__(self) -> Iterator[str]:
        return iter(self.cohort)


class Engine(Protocol):
    """Lets clients do tasks. Algorithms cannot tell engines apart."""

    @property
    def clients(self) -> Roster: ...

    @property
    def layout(self) -> Layout: ...

    def map(
        self,
        task: Task,
        cohort: Cohort,
        models_KP: Array | None,
        which_N: Array | None,
        key: Key,
        least: int | None = None,  # answers without which the round fails; None: as many as the run asks for
    ) -> Answers: ...

    def chain(self, task: Task, groups: Sequence[Cohort], models_KP: Array, which_M: Array, key: Key) -> Answers: ...


@dataclass(frozen=True)
class Compared:
    """What a method looked at to tell clients apart: a row per client, and whether directions or distances count."""

    what: str  # such as "updates"
    measure: Literal["cosine", "euclidean"]
    cohort: Cohort
    rows_ND: Array
    from_KD: Array | None = None  # if the rows are to be taken from somewhere else than zero: there, row by `which_N`
    which_N: Array | None = None


@dataclass(frozen=True)
class Record:
    """What an algorithm reports of a round: its training answers, what servers relayed, measures and events."""

    trained: Answers | None = None
    relayed: int = 0  # models exchanged among servers
    handed: int = 0  # models that clients handed to the next one directly: sent once, not up and down again
    stays: bool = False  # in a real federation nothing would have travelled: models were moved by the simulation alone
    measures: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    compared: Compared | None = None  # None: the run looks at what clients trained


class Algorithm(Protocol):
    """A frozen dataclass of hyper-parameters with pure methods; `state` names the class of what it carries on."""

    @property
    def state(self) -> type[Any]: ...

    def init(self, engine: Engine, key: Key) -> tuple[Any, Record]: ...

    def step(self, state: Any, engine: Engine, key: Key) -> tuple[Any, Record]: ...

    def serve(self, state: Any) -> Serving: ...

    def assign(self, state: Any, cohort: Cohort, engine: Engine, key: Key) -> Answers: ...

    # Optional: `wrap(model, sample) -> model`, for methods that train another model than the one given (FedFusion), and
    # `parallel(rounds, clients) -> Parallel`, for methods to which the cost models of `shoal.costs` apply.


class Select(Protocol):
    """Chooses the clients of a round from a roster."""

    def __call__(self, clients: Roster, key: Key) -> Cohort: ...


def option(default: Any, help: str, *, low: float | None = None, key: str | None = None) -> Any:
    """A hyper-parameter of an algorithm: its default, one line of help, the least value, and its key if that is
    not its name.

    >>> option(1.0, "strength of the proximal term", low=0).metadata["help"]
    'strength of the proximal term'
    """
    return field(default=default, metadata={"help": help, "low": low, "key": key})
