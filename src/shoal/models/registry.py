"""The models by name, filled by declaration: `@model("mlp")` on a builder `(shape, classes, *, options) -> nn.Module`.

Beside builders, which take their shape from the data, there are the models of the papers, with their exact sizes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from torch import nn

from shoal.errors import BadInput, unknown
from shoal.registry import Registry
from shoal.tree import Shape, told

Build = Callable[..., nn.Module]


@dataclass(frozen=True)
class Published:
    """A model of a paper: its builder, the input it was made for, its number of outputs and the builder's arguments.

    Args:
        build: Makes the module.
        shape: Of the input in the paper.
        outputs: Number of outputs in the paper; 1 is the log-odds of two classes.
        args: Arguments of the builder.
        flat: Whether it sees a sample as one row of numbers, so that any arrangement of it will do.

    >>> MODELS["sent140-lstm-fedgroup"].outputs
    1
    """

    build: Build
    shape: tuple[int, ...]
    outputs: int
    args: Mapping[str, Any] = field(default_factory=dict)
    flat: bool = False

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Images have the paper's size, dense models any arrangement of it, sequences any length and width.

        Args:
            shape: Of one sample.

        Returns:
            Whether the model can be made for it.

        >>> MODELS["mnist-mlp"].takes((784,)), MODELS["mnist-cnn"].takes((784,))
        (True, False)
        """
        if self.flat:
            return prod(shape) == prod(self.shape)
        return shape == self.shape or len(shape) == len(self.shape) == 2


model = MODELS = Registry[Any]("model", home="shoal.models")
RESNETS = ("resnet8", "resnet20", "resnet8-batch-norm", "resnet20-batch-norm")
SMALLEST = {"cnn": 4, **dict.fromkeys(RESNETS, 1)}  # pixels that short names for images need in either direction


@dataclass(frozen=True)
class Named:
    """Makes fresh modules of one named model. A value: it can be compared, printed and sent to another process.

    Args:
        name: One of `MODELS`.
        shape: Of one sample.
        classes: Of the data.
        args: Arguments of the builder, as pairs.
        made_by: The builder or published model; None: what `MODELS` has under the name.

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
    made_by: Any = field(default=None, repr=False, compare=False)

    def __call__(self) -> nn.Module:
        made_by = MODELS[self.name] if self.made_by is None else self.made_by
        if isinstance(made_by, Published):
            return made_by.build(self.shape, made_by.outputs, **made_by.args)
        given = (self.shape, self.classes)[: takes(made_by)]
        module: nn.Module = made_by(*given, **dict(self.args))
        return module


def takes(build: Build) -> int:
    """How much a builder wants to know of the data: shape and classes, the shape alone, or nothing.

    >>> takes(MODELS["mlp"]), takes(lambda: nn.Linear(2, 2))
    (2, 0)
    """
    kinds = [p.kind for p in inspect.signature(build).parameters.values() if p.default is p.empty]
    return sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)


def factory(name: str, shape: Shape, classes: int, *args: Any, **named: Any) -> Named:
    """What makes the named model for samples of this shape; what does not fit is said at once.

    A model of a paper keeps the paper's number of outputs, also where the data has fewer classes.

    Args:
        name: One of `MODELS`.
        shape: Of one sample.
        classes: Of the data.
        args: Arguments of a generic model in its order, such as the hidden units of `mlp`.
        named: The same by name.

    Returns:
        A value that makes a fresh module whenever it is called.

    >>> model = factory("mnist-cnn", (1, 28, 28), 10)()
    >>> sum(p.numel() for p in model.parameters())
    50186
    >>> factory("mlp", (1, 28, 28), 10, 512) == factory("mlp", (1, 28, 28), 10, hidden=512)
    True
    """
    name = MODELS.named(name)
    found, given = MODELS.find(name), bound(name, args, named)
    if isinstance(shape, dict):
        if getattr(found, "__module__", "").startswith("shoal."):
            raise BadInput(
                f"the model {name!r} takes one array of samples, not several ({told(shape)}); "
                "give a function that makes your own: model=FILE.py:FUNCTION"
            )
        return Named(name, shape, classes, given, found)
    shape = tuple(shape)
    if isinstance(found, Published):
        check_published(name, found, shape, classes)
    elif name in SMALLEST and (len(shape) != 3 or min(shape[1:]) < SMALLEST[name]):
        least = f"at least {SMALLEST[name]}x{SMALLEST[name]} pixels, " if SMALLEST[name] > 1 else ""
        raise BadInput(f"the model {name!r} takes images of shape channels x height x width, {least}not {told(shape)}")
    return Named(name, shape, classes, given, found)


def bound(name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The arguments of a short name by their names, checked."""
    known = keywords(name)
    if (args or named) and not known:
        why = ": it is fixed by its paper" if isinstance(MODELS[name], Published) else ""
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
        check_argument(name, key, value, known[key].default)
    return tuple(sorted(given.items()))


def check_published(name: str, model: Published, shape: tuple[int, ...], classes: int) -> None:
    if not model.takes(shape):
        raise BadInput(
            f"the model {name!r} takes inputs of shape {told(model.shape)}, not {told(shape)}; "
            f"{', '.join(n for n, m in MODELS.items() if not isinstance(m, Published))} take their shape from the data"
        )
    if classes > max(model.outputs, 2):
        raise BadInput(f"the model {name!r} tells {max(model.outputs, 2)} classes apart, the data has {classes}")


def check_argument(name: str, key: str, value: Any, default: Any) -> None:
    """A sentence if a value is not of the kind that its default is."""
    if not isinstance(default, bool | float | str):
        if type(value) is not int or value < 1:
            raise BadInput(f"{key} of the model {name!r} is a whole number from 1 on, not {value!r}")
    elif not isinstance(value, float | int if isinstance(default, float) else type(default)):
        raise BadInput(f"{key} of the model {name!r} is of the kind of {default!r}, not {value!r}")


def keywords(name: str) -> dict[str, inspect.Parameter]:
    """The arguments a model takes, in order; a model of a paper takes none.

    >>> [*keywords("mlp")], [*keywords("mnist-mlp")]
    (['hidden', 'start'], [])
    """
    if isinstance(MODELS[name], Published):
        return {}
    found = inspect.signature(MODELS[name]).parameters.values()
    return {p.name: p for p in found if p.kind is p.KEYWORD_ONLY or p.default is not p.empty}
