"""The contracts everything hangs on: tasks, solvers, engines, algorithms. The records they exchange come along.

Shapes are part of names: N clients of a cohort, K models, P numbers of a flat model, C classes, B samples of a batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from shoal.records import (
    EVERYBODY,
    Answer,
    Answers,
    Array,
    Cohort,
    Failure,
    Memory,
    Record,
    Ref,
    Representation,
    Roster,
    expect,
)
from shoal.seeds import Key
from shoal.tree import Tree

if TYPE_CHECKING:
    from shoal.costs import Parallel
    from shoal.layout import Layout, ModelFactory
    from shoal.net import Net
    from shoal.objectives import Objective
    from shoal.solvers import LossTerm, Trained
    from shoal.table import Serving

__all__ = [
    "EVERYBODY",
    "Algorithm",
    "Answer",
    "Answers",
    "Array",
    "Bulk",
    "ClientData",
    "Cohort",
    "CohortAnswers",
    "CohortAtWork",
    "Engine",
    "Failure",
    "Field",
    "Memory",
    "Record",
    "Ref",
    "Representation",
    "Roster",
    "Select",
    "Solver",
    "Task",
    "expect",
    "option",
]


class ClientData(Protocol):
    """One client's samples: `data("train")` gives inputs, mostly one array (`shoal.tree` knows the others), and labels.

    >>> from shoal.data import build
    >>> data: ClientData = build("digits").client("00")
    >>> x, y = data("train")
    >>> len(x) == len(y) == len(data.labels("train"))
    True
    """

    def __call__(self, split: str) -> tuple[Tree, Array]: ...

    def labels(self, split: str) -> Array:
        """The labels alone, for which inputs need not be gathered."""
        ...


@dataclass(frozen=True)
class Field:
    """What one entry of an answer must look like: its kind, its shape and its bounds.

    A shape is made of numbers and letters: P numbers of a model, K models sent, C classes, and those that the `dims` of
    the task bind. Arrays of floats are as models are (32 bits, mostly); all else has 64 bits, and so is its traffic.

    `count` is the weight of a client: a whole number from 1 to 10^9, at most ten times the announced size. A field
    called `choice` is the number of a model or group, and becomes `which_N` of the answers.

    Args:
        kind: `float`, `int`, `count`, or `sum`: floats in 64 bits that add up over clients.
        shape: Letters and numbers; none: one number.
        low: The least value.
        high: The greatest value; `K`: the number of one of the models sent.
        guarded: Whether it says so much that it leaves a real site only where the site's policy names it.

    >>> Field("float", ("D", 3)).shape
    ('D', 3)
    """

    kind: Literal["float", "int", "count", "sum"]
    shape: tuple[str | int, ...] = ()
    low: float | None = None
    high: float | Literal["K"] | None = None
    guarded: bool = False


class Bulk(Protocol):
    """How a task answers for many clients at once: every sample goes through a model once, sums by client follow.

    >>> from shoal.tasks import Evaluate
    >>> Evaluate("test").bulk.split
    'test'
    """

    @property
    def split(self) -> str:
        """Which samples."""
        ...

    def forward(self, net: Net, x: Tree) -> Array:
        """What one slice of samples gives with the model loaded: log-probabilities, or outputs, a row per sample."""
        ...

    def tally(self, rows_B: Array, y_B: Array, owner_B: Array, n: int, objective: Objective) -> Mapping[str, Array]:
        """The answers of n clients, stacked; `owner_B` says whose each sample is."""
        ...


@dataclass(frozen=True)
class CohortAnswers:
    """What a task answers for a whole cohort: the fields stacked, a row per client, and what clients keep from now on.

    Args:
        fields: By name, N rows each: whole numbers in 64 bits, single floats too, vectors as models are.
        memories: By client, for those alone whose memory changed.
        failed: Why nobody answered; None: they did.

    >>> import numpy as np
    >>> CohortAnswers({"count": np.array([3, 5])}).memories
    {}
    """

    fields: Mapping[str, Array]
    memories: Mapping[str, Memory] = field(default_factory=dict)
    failed: str | None = None


class CohortAtWork(Protocol):
    """The clients of one call as a task sees them that answers for all at once: arrays, a row per client.

    It is there only where all samples lie in memory and the native kernel takes the model.

    >>> from shoal.backends.cohort import LocalCohort
    >>> {"kept", "trains", "train", "losses_NK", "histograms_NC"} <= set(dir(LocalCohort))
    True
    """

    @property
    def clients(self) -> Cohort:
        """Who they are."""
        ...

    @property
    def models_KP(self) -> Array | None:
        """The models that are sent."""
        ...

    @property
    def which_N(self) -> Array:
        """Which of them each client is sent; -1: all of them, or none."""
        ...

    @property
    def layout(self) -> Layout:
        """Of the models."""
        ...

    def subset(self, places: Array) -> CohortAtWork:
        """Some of the clients."""
        ...

    def kept(self, name: str) -> list[Any]:
        """What each client keeps under a name; None where it keeps nothing."""
        ...

    def keeping(self, **values: Sequence[Any]) -> dict[str, Memory]:
        """By client its memory with new values, one of each per client."""
        ...

    def sizes_N(self, split: str) -> Array:
        """Samples of each client."""
        ...

    def histograms_NC(self, split: str) -> Array:
        """Label counts of each client."""
        ...

    def losses_NK(self, split: str, models_KP: Array) -> Array:
        """The mean loss of every model on every client's samples."""
        ...

    def trains(self, solver: Solver, velocities: Sequence[Any] = ()) -> bool:
        """Whether all clients can train with this solver at once, going on from these velocities."""
        ...

    def train(
        self, solver: Solver, starts: Sequence[Array], key: Key, velocities: Sequence[Any] | None = None
    ) -> tuple[Array, Array, list[Array] | None]:
        """Train every client from its own start, where `trains` says so.

        Args:
            solver: Trains.
            starts: A model per client.
            key: The randomness of the call; each client's is `key.of(client)`.
            velocities: What clients kept of the last time; None: nothing.

        Returns:
            Updates (N x P), mean losses, and the velocities to keep, if the solver keeps any.
        """
        ...

    def train_chains(self, solver: Solver, lengths_M: Array, key: Key) -> tuple[Array, Array] | None:
        """Train chains of clients, each from where the one before it ended, where `trains` says so.

        Args:
            solver: Trains.
            lengths_M: How many clients each chain has, none of them 0.
            key: The randomness of the call; each client's is `key.of(client)`.

        Returns:
            The update of each chain, and the mean loss of each client; None: clients keep something, or one does not
            end in numbers.
        """
        ...


class Task(ABC):
    """What happens on one client, on its own data: a frozen dataclass with one pure function.

    `name`, `models`, `fields`, the call and `work` must be there; the others have defaults.

    >>> from shoal.tasks import Losses
    >>> task = Losses("train")
    >>> task.name, task.models, task.work(10, models=4)
    ('losses', 'all', (40, 0))
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """How records call it."""

    @property
    @abstractmethod
    def models(self) -> Literal["one", "all", "none"]:
        """What a client is sent."""

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, Field]:
        """Exactly what leaves the client."""

    @abstractmethod
    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        """Do it.

        Args:
            net: The module on a flat vector, and its loss.
            models: The model sent, all K of them, or none.
            data: The client's samples.
            memory: What the client keeps.
            key: The randomness of this client in this call.

        Returns:
            What leaves the client, and what it keeps from now on.
        """

    @abstractmethod
    def work(self, samples: int, models: int) -> tuple[int, int]:
        """Samples sent forward and backward through a model on a client with so many training samples."""

    @property
    def dims(self) -> Mapping[str, int]:
        """What letters of its own in the shapes of its fields stand for."""
        return {}

    @property
    def uncounted(self) -> int:
        """Of the vectors sent, those that the papers do not count."""
        return 0

    @property
    def diagnostic(self) -> bool:
        """Whether it is done to look at a method, not by it: then its traffic is none of the method's."""
        return False

    @property
    def bulk(self) -> Bulk | None:
        """How it answers for many clients at once, if it can."""
        return None

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        """The same as calling it client by client, for a whole cohort at once, bit for bit.

        It counts only on the class that also has the call: a class with a call of its own is asked client by client
        until it has a form for cohorts of its own, too.

        Args:
            cohort: The clients.
            key: The randomness of the call; each client's is `key.of(client)`.

        Returns:
            Stacked answers; None: it must be done client by client.
        """
        return None

    def for_chains(self, cohort: CohortAtWork, lengths_M: Array, key: Key) -> CohortAnswers | None:
        """The same as calling it client by client in chains, each from where the one before it ended, bit for bit.

        It counts as `for_cohort` does.

        Args:
            cohort: The clients, one chain after the other.
            lengths_M: How many clients each chain has, none of them 0.
            key: The randomness of the call; each client's is `key.of(client)`.

        Returns:
            Stacked answers, a row per chain; None: it must be done client by client.
        """
        return None


class Engine(Protocol):
    """Lets clients do tasks. Algorithms cannot tell engines apart.

    >>> from shoal.engine import Engine as TheEngine    # the class that has all this, over any back end
    >>> {"clients", "map", "chain", "enough"} <= set(dir(TheEngine))
    True
    """

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
        min_answers: int | None = None,  # answers without which the round fails; None: as many as the run asks for
    ) -> Answers: ...

    def chain(self, task: Task, groups: Sequence[Cohort], models_KP: Array, which_M: Array, key: Key) -> Answers: ...

    def enough(
        self,
        what: str,
        came: int,  # the round fails if fewer came than the run asks for
        asked: int,
        failed: Sequence[Failure],  # why the first of them failed is told
    ) -> None: ...


class Solver(Protocol):
    """Local training on one client's samples, as tasks and algorithms know it. `SGD` is one.

    >>> from shoal.solvers import SGD
    >>> solver: Solver = SGD(epochs=2, batch=10)
    >>> solver.steps_for(25), solver.passes(25)
    (6, 50)
    """

    @property
    def batch(self) -> int:
        """Samples of a step."""
        ...

    def __call__(self, net: Net, start_P: Array, x: Tree, y: Array, key: Key, velocity: Any = None) -> Trained:
        """Train from `start_P`; `velocity` is what the client kept of the last time, if it keeps any."""
        ...

    def steps_for(self, n: int) -> int:
        """Mini-batch steps of a client of n samples."""
        ...

    def passes(self, n: int) -> int:
        """Samples sent through the model and back for a client of n samples."""
        ...

    def plus(self, *terms: LossTerm) -> Solver:
        """The same with more loss terms."""
        ...

    def pretraining(self, steps: int | None = None) -> Solver:
        """One for a first look: so many steps, or one epoch; nothing is kept, nothing decays, no terms."""
        ...


class Algorithm(ABC):
    """A method: a frozen dataclass of hyper-parameters, with pure methods over a state.

    `init`, `step`, `serve` and `assign` must be there; `wrap` and `parallel` have defaults.

    >>> import shoal
    >>> issubclass(shoal.IFCA, Algorithm), shoal.IFCA(groups=4).groups
    (True, 4)
    """

    state: ClassVar[type[Any]]  # the class of what it carries from round to round
    solver: Solver | None = None  # what trains on clients; most methods have it as a field

    @abstractmethod
    def init(self, engine: Engine, key: Key) -> tuple[Any, Record]:
        """The state before round 1, and the record of round 0."""

    @abstractmethod
    def step(self, state: Any, engine: Engine, key: Key) -> tuple[Any, Record]:
        """One round: the next state, and what the round reports."""

    @abstractmethod
    def serve(self, state: Any) -> Serving:
        """Which model serves whom."""

    @abstractmethod
    def assign(self, state: Any, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """The model or group of clients that were not there before, as `which_N` of the answers."""

    def wrap(self, model: ModelFactory, sample: Tree) -> ModelFactory:
        """The model that is trained, made of the one that was given (FedFusion); as it is by default.

        Args:
            model: What makes the model that was given.
            sample: One input, as a batch.

        Returns:
            What makes the model that is trained.
        """
        return model

    def parallel(self, rounds: int, clients: int) -> Parallel | None:
        """How parallel the method is, where the cost models of `shoal.costs` apply to it; None where they do not."""
        return None


class Select(Protocol):
    """Chooses the clients of a round from a roster.

    >>> import numpy as np
    >>> from shoal import All
    >>> from shoal.seeds import Key
    >>> All()(Roster(("ann", "bob"), np.ones(2)), Key(0))
    ('ann', 'bob')
    """

    def __call__(self, clients: Roster, key: Key) -> Cohort: ...


def option(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    key: str | None = None,
    alias: str | None = None,
    without_labels: Any = None,
) -> Any:
    """A hyper-parameter of an algorithm: its default, one line of help, the least value, and its key if that is
    not its name.

    Args:
        default: Its value if nobody gives one.
        help: What `shoal list ALGORITHM` says.
        low: The least value.
        key: Its name on the command line, if that is not the field's.
        alias: Another name there, which other methods have for the same.
        without_labels: The value with which label histograms are not needed; None: they never are.

    Returns:
        A field of a dataclass.

    >>> option(1.0, "strength of the proximal term", low=0).metadata["help"]
    'strength of the proximal term'
    """
    told = {"help": help, "low": low, "key": key, "alias": alias, "without_labels": without_labels}
    return field(default=default, metadata=told)
