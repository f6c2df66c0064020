"""Optimisers of local work beside Shoal's own SGD: classes of `torch.optim` by name, and what clients keep of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer

from shoal.data.spec import Spec, parse
from shoal.errors import BadInput, unknown
from shoal.net import Net

__all__ = ["Optimiser", "Stepper", "optimiser_of"]

OWN = "sgd"  # without arguments: the SGD of the training loop itself
IMPOSSIBLE = {
    "lbfgs": "it evaluates a batch several times in a step",
    "sparseadam": "it takes sparse gradients, and these are dense",
}
EACH_BY_ITSELF = (  # treat every number by itself: on one flat vector they do the same, and quicker
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD",
)  # fmt: skip


@dataclass(frozen=True)
class Optimiser:
    """A class of `torch.optim` with arguments.

    Args:
        text: As the user writes it.
        kind: The class.
        arguments: By name, without the learning rate.

    >>> found = optimiser_of("rmsprop:alpha=0.9")
    >>> found.kind.__name__, dict(found.arguments), found.default("lr")
    ('RMSprop', {'alpha': 0.9}, 0.01)
    """

    text: str
    kind: type[Optimizer]
    arguments: Mapping[str, Any]

    def default(self, name: str) -> Any:
        """What the class itself takes for an argument; None if it does not have it."""
        found = inspect.signature(self.kind).parameters.get(name)
        return None if found is None else found.default

    def check(self, momentum: float, momentum_memory: str, weight_decay: float) -> None:
        """A sentence if one of the keys of SGD means nothing here."""
        name = self.text.partition(":")[0]
        if momentum:
            own = self.default("momentum") is not None
            instead = f"use optimiser={name}:momentum={momentum:g}" if own else "leave it out"
            raise BadInput(f"momentum={momentum:g} belongs to optimiser=sgd; with optimiser={self.text} {instead}")
        if momentum_memory == "kept":
            raise BadInput(f"with optimiser={self.text} give optimiser_memory=kept instead of momentum_memory=kept")
        if weight_decay and self.default("weight_decay") is None:
            raise BadInput(f"weight_decay={weight_decay:g} is not possible: {name} has none; leave it out, or use l2")
        if weight_decay and "weight_decay" in self.arguments:
            raise BadInput(f"weight_decay is given twice, as a key and in optimiser={self.text}; leave one out")

    def begin(self, net: Net, weight_decay: float, kept: Mapping[str, Any] | None) -> Stepper:
        """The optimiser of one local training, on a net whose model is loaded.

        Args:
            net: The model; gradients are expected in `net.grad`.
            weight_decay: Passed on where it is not 0; 0 leaves what the class or its arguments say.
            kept: What a client kept of the last time; None: it begins anew.

        Returns:
            What makes the steps.
        """
        if self.kind.__name__ in EACH_BY_ITSELF:
            flat = net.params.detach()
            flat.grad = net.grad
            tensors = [flat]
        else:
            tensors = [p for p in net.module.parameters() if p.requires_grad]
        decay = {"weight_decay": weight_decay} if weight_decay else {}
        made: Any = self.kind
        stepper = Stepper(made(tensors, **self.arguments, **decay), tensors)
        if kept is not None:
            stepper.restore(kept)
        return stepper


@dataclass(frozen=True)
class Stepper:
    """An optimiser at work on the tensors of one model.

    Args:
        optimiser: Of torch.
        tensors: What it changes.
    """

    optimiser: Optimizer
    tensors: list[torch.Tensor]

    def step(self, lr: float) -> None:
        """One step against the gradients that are there."""
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.optimiser.step()

    def kept(self) -> dict[str, Any]:
        """The state of the optimiser as a client can keep it: arrays by the number of the tensor and their name."""
        found: dict[str, Any] = {}
        for i, tensor in enumerate(self.tensors):
            for name, value in self.optimiser.state[tensor].items():
                if value is not None:
                    array = isinstance(value, torch.Tensor)
                    found[f"{i} {name}"] = np.array(value.detach().cpu().numpy()) if array else value
        return found

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Go on from a state that `kept` gave."""
        for key, value in kept.items():
            number, name = key.split(" ", 1)
            tensor = self.tensors[int(number)]
            if isinstance(value, np.ndarray):
                if len(self.tensors) == 1 and value.ndim and value.shape != tuple(tensor.shape):
                    raise ValueError(f"what the client kept of its optimiser ({name}) does not fit the model")
                value = torch.from_numpy(np.array(value))
                value = value.to(tensor.device) if value.dim() else value
            self.optimiser.state[tensor][name] = value


@lru_cache
def optimiser_of(text: str) -> Optimiser | None:
    """The optimiser that a text names, or one sentence.

    Args:
        text: `adam`, `adamw:weight_decay=0.1`, `rmsprop:alpha=0.9`, `adam:betas=0.8/0.99`; upper and lower case alike.

    Returns:
        The class with its arguments; None for `sgd`, which the training loop does itself.

    >>> optimiser_of("sgd") is None, optimiser_of("sgd:momentum=0.9:nesterov=true").kind.__name__
    (True, 'SGD')
    >>> optimiser_of("adam:betas=0.8/0.99").arguments
    {'betas': (0.8, 0.99)}
    >>> optimiser_of("addam")
    Traceback (most recent call last):
    shoal.errors.BadInput: unknown optimiser 'addam'; did you mean 'adam'? Known: adadelta, adafactor, ...
    """
    spec = parse(text)
    if str(spec).lower() == OWN:
        return None
    classes = {name.lower(): kind for name, kind in vars(torch.optim).items() if is_optimiser(kind)}
    name = spec.name.lower()
    if name in IMPOSSIBLE:
        raise BadInput(f"optimiser={text} is not possible: {IMPOSSIBLE[name]}; use adam or another one")
    if name not in classes:
        raise unknown("optimiser", spec.name, [known for known in classes if known not in IMPOSSIBLE])
    kind: Any = classes[name]
    arguments = arguments_of(spec, kind)
    try:
        kind([torch.zeros(1, 1)], **arguments)
    except (TypeError, ValueError) as e:
        raise BadInput(f"optimiser={text} is not possible: {e}") from e
    return Optimiser(text, kind, arguments)


def is_optimiser(thing: Any) -> bool:
    """Whether something is a class of optimisers, and not what they derive from."""
    return isinstance(thing, type) and issubclass(thing, Optimizer) and thing is not Optimizer


def arguments_of(spec: Spec, kind: type[Optimizer]) -> dict[str, Any]:
    """The arguments that a text gives; several numbers of one argument stand with slashes between them."""
    if spec.args:
        raise BadInput(f"optimiser={spec} is not possible: arguments go with their names, {spec.name}:KEY=VALUE")
    known = [k for k in inspect.signature(kind).parameters if k not in ("params", "lr")]
    found: dict[str, Any] = {}
    for key, value in spec.kwargs.items():
        if key == "lr":
            raise BadInput(f"optimiser={spec} is not possible: the learning rate has a key of its own, lr={value}")
        if key not in known:
            raise unknown(f"argument of optimiser {spec.name!r}", key, known)
        found[key] = numbers(value) if isinstance(value, str) and "/" in value else value
        usual = inspect.signature(kind).parameters[key].default
        if isinstance(usual, tuple) and (not isinstance(found[key], tuple) or len(found[key]) != len(usual)):
            like = "/".join(f"{number}" for number in usual)
            raise BadInput(f"optimiser={spec} is not possible: {key} takes {len(usual)} numbers, {key}={like}")
    return found


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with slashes between them.

    >>> numbers("0.9/0.99")
    (0.9, 0.99)
    """
    try:
        return tuple(float(word) for word in text.split("/"))
    except ValueError as e:
        raise BadInput(f"{text} is not possible: write numbers with slashes between them, 0.9/0.99") from e
