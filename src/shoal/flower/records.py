"""What a federation's messages are made of: records by name, in the format of checkpoints. Never a pickle."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.backends.backend import Outcome
from shoal.backends.unit import OneClient
from shoal.errors import BadInput
from shoal.flower.task_name import TaskName
from shoal.layout import ModelFactory
from shoal.models.registry import Named
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.solvers import SGD, LossTerm
from shoal.solvers.fusion import Fused
from shoal.store import codec
from shoal.tree import Kind, Shape
from shoal.types import Array, Failure, Memory, Task

__all__ = [
    "Answered",
    "Asked",
    "Hello",
    "OwnModel",
    "Site",
    "TaskName",
    "pack",
    "portable",
    "printable",
    "sendable",
    "unpack",
]

LOST = "lost its memory"  # the kind of the event that a site tells when a version is not there


@dataclasses.dataclass(frozen=True)
class OwnModel:
    """Stands in a message for the model function that both apps were made with.

    >>> portable(lambda: None)
    OwnModel()
    """


@dataclasses.dataclass(frozen=True)
class Hello:
    """The server asks a site who is there.

    >>> unpack(pack(Hello()))
    Hello()
    """


@dataclasses.dataclass(frozen=True)
class Site:
    """What a site says of itself.

    Args:
        sizes: Training samples of each client that it hosts.
        tags: What it publishes about them.
        shape: Of one input; by name where it is several arrays; 0 for any length.
        dtype: Of its numbers, likewise.
        classes: One more than the greatest label of its samples.
        version: Of Shoal.
        name: What it calls itself; nothing depends on it.

    >>> unpack(pack(Site({"ann": 12}, {}, (8, 8), "float32", 10, "1.0"))).sizes
    {'ann': 12}
    """

    sizes: Mapping[str, int]
    tags: Mapping[str, Mapping[str, str]]
    shape: Shape
    dtype: Kind
    classes: int
    version: str
    name: str = ""


@dataclasses.dataclass(frozen=True)
class Asked:
    """Units of one call for the clients of one site.

    Args:
        run: The mark of the run, under which sites keep what clients remember.
        stamp: Of this call: round and number, the same when the call is repeated.
        model: What makes the model.
        digest: Of the layout, by which a site knows that its model is the same.
        precision: Numbers of a model.
        arithmetic: How to compute.
        models: The models sent; a unit's `which` counts these.
        units: What each client does.
        memories: Which version of its memory each client begins with, as `{"at": stamp}`; absent: an empty one.
        needed: For each client the versions that a checkpoint or this round may still ask for; others can be forgotten.
        task: Of the run, by name.

    >>> Asked("r", "1-0", OwnModel(), "", "float32", Arithmetic(), (), (), {}, {}).stamp
    '1-0'
    """

    run: str
    stamp: str
    model: Any
    digest: str
    precision: str
    arithmetic: Arithmetic
    models: tuple[Array, ...]
    units: tuple[OneClient, ...]
    memories: Mapping[str, Memory]
    needed: Mapping[str, tuple[str, ...]]
    task: TaskName = TaskName()

    @property
    def round(self) -> int:
        """The round in which the call is made; keys of units may belong to another one."""
        return int(self.stamp.partition("-")[0])


@dataclasses.dataclass(frozen=True)
class Answered:
    """What a site answers: an outcome per unit, and the training samples that its clients have now.

    Args:
        outcomes: In the order of the units.
        sizes: Training samples by client.

    >>> unpack(pack(Answered((Outcome({"count": 3}),), {"ann": 3}))).outcomes[0].answer
    {'count': 3}
    """

    outcomes: tuple[Outcome, ...]
    sizes: Mapping[str, int]


PARTS = (
    Answered,
    Arithmetic,
    Asked,
    Failure,
    Fused,
    Hello,
    Key,
    Named,
    OneClient,
    Outcome,
    OwnModel,
    SGD,
    Site,
    TaskName,
)


def sendable() -> dict[str, type]:
    """The records that a message may hold, by name: every task, solver and loss term that was imported, and parts.

    A task or loss term of your own is among them once its file is imported, on the server and on the sites; a solver
    of your own if it is derived from `SGD`. Nobody can take the name of one of Shoal's.

    Returns:
        Dataclasses by name.

    >>> {"Train", "Choose", "SGD", "Proximal", "Key"} <= set(sendable())
    True
    """
    import shoal.tasks  # noqa: F401  (declares Shoal's own)

    len(ALGORITHMS)  # imports methods of installed packages, which may have tasks of their own
    found = [c for root in (Task, LossTerm, SGD) for c in descendants(root)]
    own = [c for c in found if c.__module__.startswith("shoal.")]
    return {c.__name__: c for c in (*found, *own, *PARTS) if dataclasses.is_dataclass(c)}


def descendants(root: type) -> Iterator[type]:
    """All classes derived from a class that stand in a module, not in a function."""
    children: list[type] = root.__subclasses__()
    for child in children:
        if "<locals>" not in child.__qualname__:
            yield child
        yield from descendants(child)


def pack(value: Any, seen: dict[int, str] | None = None) -> codec.Copied:
    """A record as a tree of JSON and arrays, if everything in it may be sent.

    Args:
        value: A record of `sendable`.
        seen: Filled with the names that arrays have in it, by their `id`.

    Returns:
        What a message holds.

    >>> pack(Key(3)).tree["record"]
    'Key'
    """
    known = sendable()
    for kind in records_in(value):
        if known.get(kind.__name__) is not kind:
            raise BadInput(
                f"{kind.__module__}.{kind.__qualname__} cannot be sent to sites: derive it from Task, LossTerm or SGD, "
                "at the top level of a file that server and sites import"
            )
    arrays: dict[str, Array] = {}
    try:
        return codec.Copied(codec.encode(value, arrays, {} if seen is None else seen), arrays)
    except TypeError as e:
        raise BadInput(f"a message cannot be made: {e}") from e


def records_in(value: Any) -> Iterator[type]:
    """The classes of all records in a value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from records_in(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from records_in(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from records_in(item)


def unpack(copy: codec.Copied) -> Any:
    """The record of a message, or one sentence.

    Args:
        copy: What came.

    Returns:
        The record.

    >>> unpack(codec.Copied({"record": "Shell", "fields": {}}, {}))
    Traceback (most recent call last):
    shoal.errors.BadInput: the message cannot be read: it holds a 'Shell', which is not known here
    """
    try:
        return codec.decode(copy.tree, copy.arrays, sendable())
    except Exception as e:  # it came from elsewhere: nothing in it may end more than itself
        reason = e if isinstance(e, codec.Damaged) else f"{type(e).__name__}: {e}"
        raise BadInput(f"the message cannot be read: {reason}") from e


def printable(text: object) -> str:
    """Words that came from elsewhere, in one line of at most 300 characters, without what would steer a terminal.

    Args:
        text: Whatever it was.

    Returns:
        What may be shown and recorded.

    >>> printable("no\\n \\x1b[31msuch file")
    'no [31msuch file'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())[:300]


def portable(factory: ModelFactory) -> Any:
    """What makes a model, as it is sent: named models by name, with fusion if they have it; others stay at home.

    Args:
        factory: Of a layout.

    Returns:
        A record.

    >>> from shoal.models import factory
    >>> portable(factory("mlp", (4,), 3))
    Named(name='mlp', shape=(4,), classes=3, args=())
    """
    if isinstance(factory, Named):
        return dataclasses.replace(factory, made_by=None)
    if isinstance(factory, Fused):
        return dataclasses.replace(factory, model=portable(factory.model))
    return OwnModel()
