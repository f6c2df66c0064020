"""Models by name: those of the papers, with their exact sizes, and short names that take their shape from the data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from torch import nn

from shoal.errors import BadInput, unknown
from shoal.models import conv, linear, recurrent

Shape = tuple[int, ...]
Build = Callable[..., nn.Module]

GENERIC: Mapping[str, Build] = {"mclr": linear.mclr, "mlp": linear.mlp, "cnn": conv.cnn}


@dataclass(frozen=True)
class Published:
    """A model of a paper: its builder, the input it was made for, its number of outputs and the builder's arguments.

    >>> PUBLISHED["sent140-lstm-fedgroup"].outputs
    1
    """

    build: Build
    shape: Shape
    outputs: int
    args: Mapping[str, Any] = field(default_factory=dict)

    def takes(self, shape: Shape) -> bool:
        """Images have the paper's size, dense models any arrangement of it, sequences any length and width."""
        if self.build in (linear.mclr, linear.mlp):
            return prod(shape) == prod(self.shape)
        return shape == self.shape or len(shape) == len(self.shape) == 2


MNIST, CIFAR, TWEET = (1, 28, 28), (3, 32, 32), (25, 300)

PUBLISHED: Mapping[str, Published] = {
    "mnist-mclr": Published(linear.mclr, MNIST, 10),
    "mnist-mlp": Published(linear.mlp, MNIST, 10),
    "mnist-cnn": Published(conv.cnn, MNIST, 10),
    "femnist-mclr-26": Published(linear.mclr, MNIST, 26),
    "femnist-mclr-10": Published(linear.mclr, MNIST, 10),
    "femnist-mlp-26": Published(linear.mlp, MNIST, 26, {"hidden": 512}),
    "femnist-mlp-10": Published(linear.mlp, MNIST, 10, {"hidden": 512}),
    "femnist-cnn": Published(conv.strided, MNIST, 10),
    "synthetic-mclr": Published(linear.mclr, (60,), 10),
    "fmnist-cnn": Published(conv.leaf, MNIST, 10, {"dense": 1024}),
    "sent140-gru": Published(recurrent.gru, TWEET, 2),
    "sent140-lstm": Published(recurrent.lstm, TWEET, 2),
    "sent140-lstm-fedgroup": Published(recurrent.stacked_lstm, TWEET, 1),
    "wecfl-fmnist": Published(conv.normed, MNIST, 10),
    "wecfl-cifar": Published(conv.lenet, CIFAR, 10),
    "fedgsp-leaf": Published(conv.leaf, MNIST, 62),
    "fedgsp-leaf-small": Published(conv.leaf, MNIST, 62, {"maps": (16, 32), "dense": 128}),
    "cfl-cnn": Published(conv.lenet, CIFAR, 10, {"maps": (32, 64), "dense": (512, 128)}),
}

NAMES = (*GENERIC, *PUBLISHED)


@dataclass(frozen=True)
class Named:
    """Makes fresh modules of one named model. A value: it can be compared, printed and sent to another process.

    >>> Named("mlp", (1, 8, 8), 10, (("hidden", 32),))()
    Sequential(
      (features): Sequential(
        (0): Flatten(start_dim=1, end_dim=-1)
        (1): Linear(in_features=64, out_features=32, bias=True)
        (2): ReLU()
      )
      (head): Linear(in_features=32, out_features=10, bias=True)
    )
    """

    name: str
    shape: Shape
    classes: int
    args: tuple[tuple[str, Any], ...] = ()

    def __call__(self) -> nn.Module:
        if self.name in GENERIC:
            return GENERIC[self.name](self.shape, self.classes, **dict(self.args))
        model = PUBLISHED[self.name]
        return model.build(self.shape, model.outputs, **model.args)


def factory(name: str, shape: Shape, classes: int, *args: Any, **named: Any) -> Named:
    """What makes the named model for samples of this shape; what does not fit is said at once.

    A model of a paper keeps the paper's number of outputs, also where the data has fewer classes.

    >>> model = factory("mnist-cnn", (1, 28, 28), 10)()
    >>> sum(p.numel() for p in model.parameters())
    50186
    >>> factory("mlp", (1, 28, 28), 10, 512) == factory("mlp", (1, 28, 28), 10, hidden=512)
    True
    """
    if name not in NAMES:
        raise unknown("model", name, NAMES)
    shape = tuple(shape)
    given = bound(name, args, named)
    if name in PUBLISHED:
        check_published(name, PUBLISHED[name], shape, classes)
    elif name == "cnn" and (len(shape) != 3 or min(shape[1:]) < 4):
        raise BadInput(
            f"the model 'cnn' takes images of shape channels x height x width, at least 4x4 pixels, not {times(shape)}"
        )
    return Named(name, shape, classes, given)


def bound(name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The arguments of a short name by their names, checked."""
    known = keywords(name)
    if (args or named) and not known:
        why = ": it is fixed by its paper" if name in PUBLISHED else ""
        raise BadInput(f"the model {name!r} takes no arguments{why}")
    if len(args) > len(known):
        raise BadInput(f"the model {name!r} takes {', '.join(known)} and no more, not {len(args)} values")
    given = dict(zip(known, args, strict=False))
    for key, value in named.items():
        if key not in known:
            raise unknown(f"argument of the model {name!r}", key, known)
        if key in given:
            raise BadInput(f"the model {name!r} is given {key!r} twice")
        given[key] = value
    for key, value in given.items():
        if type(value) is not int or value < 1:
            raise BadInput(f"{key} of the model {name!r} is a whole number from 1 on, not {value!r}")
    return tuple(sorted(given.items()))


def check_published(name: str, model: Published, shape: Shape, classes: int) -> None:
    if not model.takes(shape):
        raise BadInput(
            f"the model {name!r} takes inputs of shape {times(model.shape)}, not {times(shape)}; "
            f"{', '.join(GENERIC)} take their shape from the data"
        )
    if classes > max(model.outputs, 2):
        raise BadInput(f"the model {name!r} tells {max(model.outputs, 2)} classes apart, the data has {classes}")


def keywords(name: str) -> tuple[str, ...]:
    """The arguments a model takes, in order; a model of a paper takes none.

    >>> keywords("mlp"), keywords("mnist-mlp")
    (('hidden',), ())
    """
    if name not in GENERIC:
        return ()
    kinds = inspect.signature(GENERIC[name]).parameters.values()
    return tuple(p.name for p in kinds if p.kind is p.KEYWORD_ONLY)


def times(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "a single number"
