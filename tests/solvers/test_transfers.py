"""What a GPU would have to wait for, counted on a CPU: nothing that grows with the number of local steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from shoal.layout import Layout, ModelFactory
from shoal.models import factory
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, Fused, Proximal
from shoal.types import Array

# What moves numbers between a device and Python, or waits for it: methods by name, and functions that make tensors
CROSSING = {"item", "tolist", "numpy", "cpu", "cuda", "pin_memory", "__bool__", "__float__", "__int__", "__index__"}
MAKING = {"tensor", "as_tensor", "from_numpy"}


class Calls(TorchFunctionMode):
    """Counts calls from Python."""

    def __init__(self, seen: Counter[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in CROSSING | MAKING or (name == "to" and moves(args[1:], kwargs or {})):
            self.seen[name] += 1
        return func(*args, **(kwargs or {}))


class Reads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts numbers that are read out of a tensor, whoever asks for them."""

    def __init__(self, seen: Counter[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            self.seen["read"] += 1
        return func(*args, **(kwargs or {}))


def moves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `Tensor.to` names a device."""
    return any(isinstance(a, torch.device | str) for a in (*args, *kwargs.values()))


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    seen: Counter[str] = Counter()
    plain = torch.from_numpy

    def from_numpy(array: Array) -> torch.Tensor:  # no mode sees it
        seen["from_numpy"] += 1
        return plain(array)

    with monkeypatch.context() as patch, Calls(seen), Reads(seen):
        patch.setattr(torch, "from_numpy", from_numpy)
        yield seen


def norms() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 3))


SAMPLE = np.zeros((1, 1, 4, 3), np.float32)
MODELS: dict[str, Callable[[], ModelFactory]] = {
    "perceptron": lambda: factory("mlp", (1, 4, 3), 3),
    "batch norm and dropout": lambda: norms,
    "fusion": lambda: Fused.of(factory("mlp", (1, 4, 3), 3), SAMPLE, "conv"),
}
SOLVERS = {
    "plain": SGD(batch=4),
    "momentum and decay": SGD(batch=4, momentum=0.5, weight_decay=0.1, l2=0.1),
    "pull": SGD(batch=4).plus(Proximal(0.1)),
    "two streams": SGD(batch=4).plus(MMD(0.1)),
}


def crossings(net: Net, solver: SGD, steps: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, *SAMPLE.shape[1:])).astype(np.float32), rng.integers(0, 3, 20)
    with counting(monkeypatch) as seen:
        replace(solver, steps=steps)(net, net.layout.init(Key(0)), x, y, Key(1))
    return seen


@pytest.mark.parametrize("how", SOLVERS)
@pytest.mark.parametrize("name", MODELS)
def test_more_steps_move_no_more_between_device_and_host(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(Layout.of(MODELS[name](), SAMPLE))
    crossings(net, SOLVERS[how], 1, monkeypatch)  # what is made once and kept
    few, many = (crossings(net, SOLVERS[how], steps, monkeypatch) for steps in (2, 30))
    assert few
    assert few == many


def test_the_count_sees_what_a_step_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    class Looking(nn.Module):
        """Looks at its inputs in every step."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(12, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(self.layer(x.flatten(1)) * float(x.max() > -100))

    net = Net(Layout.of(Looking, SAMPLE))
    few, many = (crossings(net, SGD(batch=4), steps, monkeypatch) for steps in (2, 30))
    assert many["read"] - few["read"] == 28
