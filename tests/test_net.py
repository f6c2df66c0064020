"""The fast ways through a module give what the plain way gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from shoal.layout import Layout, factored
from shoal.models import factory
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal, gradient
from shoal.types import Array


def images(n: int, shape: tuple[int, ...] = (1, 28, 28)) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, *shape)), rng.integers(0, 10, n)


def relative(a: Array, b: Array) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


class Viewing(nn.Module):
    """What many write after a convolution; it demands that maps lie in memory as they are numbered."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(4 * 26 * 26, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.fc(self.conv(x).view(len(x), -1))
        return scores


def test_channels_go_innermost_where_a_module_can_take_it() -> None:
    sample = np.zeros((1, 1, 28, 28), np.float32)
    assert Layout.of(factory("mnist-cnn", (1, 28, 28), 10), sample).channels_last
    assert not Layout.of(factory("mnist-mlp", (1, 28, 28), 10), sample).channels_last
    viewing = Layout.of(Viewing, sample)
    assert not viewing.channels_last
    x, y = images(12)
    assert np.isfinite(SGD()(Net(viewing), viewing.init(Key(0)), x, y, Key(0)).loss)


@pytest.mark.parametrize("name", ["wecfl-fmnist", "mnist-cnn"])
def test_channels_last_is_the_same_arithmetic(name: str) -> None:
    x, y = images(40)
    for dtype, steps, bound in (("float32", 1, 1e-5), ("float64", 6, 1e-10)):  # one step exactly, many in float64
        layout = Layout.of(factory(name, (1, 28, 28), 10), x[:1].astype(dtype), dtype)
        assert layout.channels_last
        solver, w = SGD(lr=0.1, batch=16, steps=steps, momentum=0.9), layout.init(Key(0))
        nets = Net(layout), Net(replace(layout, channels_last=False))
        assert nets[0].tensor(x).is_contiguous(memory_format=torch.channels_last)
        fast, plain = (solver(net, w, x.astype(dtype), y, Key(0)).update_P for net in nets)
        assert relative(fast, plain) < bound
        fast, plain = (gradient(net, w, x.astype(dtype), y) for net in nets)
        assert relative(fast, plain) < bound


def test_rows_of_inputs_keep_their_memory_format() -> None:
    x, _ = images(9, (3, 4, 5))
    layout = Layout.of(lambda: nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(12, 2)), x[:1])
    net = Net(layout)
    taken = net.take(net.tensor(x), torch.tensor([7, 0, 7]))
    assert taken.is_contiguous(memory_format=torch.channels_last)
    assert not taken.is_contiguous()
    np.testing.assert_array_equal(taken.numpy(), x[[7, 0, 7]].astype(np.float32))


class Twice(nn.Module):
    """A large layer used twice, and once more by its weights alone."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.out = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.fc(torch.tanh(self.fc(x))))
        scores: torch.Tensor = self.out(x + F.linear(x, self.fc.weight))
        return scores


FACTORED: dict[str, Callable[[], nn.Module]] = {
    "first and last": lambda: nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 3)),
    "no bias": lambda: nn.Sequential(nn.Linear(6, 9, bias=False), nn.ReLU(), nn.Linear(9, 3, bias=False)),
    "three axes": lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Linear(3, 7), nn.Flatten(), nn.Linear(14, 3)),
    "twice": Twice,
    "with batch norm": lambda: nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 3)),
}


@pytest.mark.parametrize("name", FACTORED)
def test_a_factored_step_is_the_same_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(23, 6)), rng.integers(0, 3, 23)
    for dtype, epochs, bound in (("float32", 1, 2e-5), ("float64", 4, 1e-12)):  # one step to rounding, many in float64
        layout = Layout.of(FACTORED[name], x[:1].astype(dtype), dtype)
        solver, w = SGD(lr=0.1, batch=23 if epochs == 1 else 5, epochs=epochs), layout.init(Key(0))
        monkeypatch.setattr(factored, "LARGE", 1 << 20)
        plain = solver(Net(layout), w, x.astype(dtype), y, Key(0))
        monkeypatch.setattr(factored, "LARGE", 10)
        net = Net(layout)
        assert net._large
        fast = solver(net, w, x.astype(dtype), y, Key(0))
        assert relative(fast.update_P, plain.update_P) < bound
        assert fast.loss == pytest.approx(plain.loss, rel=1e-6)
        # the same net afterwards in ways that need the whole gradient
        for other in (replace(solver, momentum=0.9), solver.plus(Proximal(0.1)), replace(solver, weight_decay=0.1)):
            whole = other(net, w, x.astype(dtype), y, Key(0)).update_P
            monkeypatch.setattr(factored, "LARGE", 1 << 20)
            assert whole.tobytes() == other(Net(layout), w, x.astype(dtype), y, Key(0)).update_P.tobytes()
            monkeypatch.setattr(factored, "LARGE", 10)


def test_only_plain_descent_is_factored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factored, "LARGE", 10)
    seen: list[bool] = []
    inner = Net.descending

    def watched(net: Net, factored: bool) -> AbstractContextManager[None]:
        seen.append(factored)
        return inner(net, factored)

    monkeypatch.setattr(Net, "descending", watched)
    net = Net(Layout.of(FACTORED["no bias"], np.zeros((1, 6))))
    x, y, w = np.zeros((4, 6)), np.zeros(4, int), net.layout.init(Key(0))
    for solver in (SGD(), SGD(momentum=0.5), SGD(l2=0.1), SGD(weight_decay=0.1), SGD().plus(Proximal(1.0))):
        solver(net, w, x, y, Key(0))
    assert seen == [True, False, False, False, False]


def test_shared_and_frozen_weights_are_not_factored() -> None:
    wide = nn.Linear(1024, 1024)
    tied = nn.Sequential(wide, nn.Linear(1024, 1024))
    tied[1].weight = wide.weight
    assert factored.large_layers(tied) == []
    frozen = nn.Linear(1024, 1024)
    frozen.weight.requires_grad_(False)
    assert factored.large_layers(frozen) == []
    assert factored.large_layers(wide) == [wide]
