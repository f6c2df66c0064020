"""The count of operations: the same as torch's own counter, without asking it for what Shoal brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from shoal.layout import Layout
from shoal.loop import operations
from shoal.loop.operations import count_with_torch, flops_per_sample
from shoal.models import MODELS, factory
from shoal.models.registry import Published
from shoal.net import Net
from shoal.setup.prepare import prepare
from shoal.types import Array

SHAPE, CLASSES = (3, 16, 16), 7  # for models that take any


def by_torch(layout: Layout, sample: Array) -> float:
    net = Net(layout)
    net.module.eval()
    return count_with_torch(net, net.tensor(sample))


def refuse(*_: Any) -> float:
    raise AssertionError("torch's counter was asked")


@pytest.mark.parametrize("name", list(MODELS))
def test_models_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = MODELS[name]
    shape, classes = (made.shape, max(made.outputs, 2)) if isinstance(made, Published) else (SHAPE, CLASSES)
    sample = np.zeros((1, *shape), np.float32)
    layout = Layout.of(factory(name, shape, classes), sample)
    recurrent = any(isinstance(m, nn.RNNBase) for m in layout.probe.modules())
    want = None if recurrent else by_torch(layout, sample)
    monkeypatch.setattr(operations, "count_with_torch", refuse)
    assert flops_per_sample(layout, sample) == want


def test_fused_models(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = prepare("fedfusion", "digits", "cnn", {"rounds": 1}).plan
    want = by_torch(plan.layout, plan.federation.sample())
    monkeypatch.setattr(operations, "count_with_torch", refuse)
    assert plan.flops == want > 0


class Odd(nn.Module):
    """Two layers with something of its own between them."""

    def __init__(self, between: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.first, self.last, self.unused = nn.Linear(6, 4), nn.Linear(4, 3), nn.Linear(4, 5)
        self.between = between

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.first(x)
        self.unused(seen)
        return self.last(self.between(seen))  # type: ignore[no-any-return]


class Doubled(torch.autograd.Function):
    """Twice the sum, by a product, whose gradient is a product, too."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x @ torch.eye(4)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad @ torch.eye(4)


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2),
        nn.ReLU(inplace=True),
        nn.GroupNorm(2, 4),
        nn.Conv2d(4, 6, (1, 2), dilation=2),
        nn.Flatten(2),
        nn.Conv1d(6, 2, 3),
        nn.Flatten(),
        nn.Linear(20, 3),
    )


def frozen() -> nn.Module:
    module = nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4), nn.Linear(4, 3))
    module[0].requires_grad_(False)
    return module


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: Odd(torch.relu_), (6,)),
        (lambda: Odd(lambda x: x @ torch.ones(4, 4)), (6,)),
        (lambda: Odd(lambda x: torch.bmm(x[:, None], x[:, :, None])[:, 0].expand(-1, 4)), (6,)),
        (lambda: Odd(lambda x: torch.matmul(x[:, None], torch.ones(4, 4)).mean(1)), (6,)),
        (convolutions, (2, 7, 9)),
        (frozen, (6,)),
    ],
)
def test_modules_of_one_s_own(
    make: Callable[[], nn.Module], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = np.zeros((1, *shape), np.float32)
    layout = Layout.of(make, sample)
    want = by_torch(layout, sample)
    monkeypatch.setattr(operations, "count_with_torch", refuse)
    assert flops_per_sample(layout, sample) == want


def attend(x: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0]


def multiply_by_letters(x: torch.Tensor) -> torch.Tensor:
    return torch.einsum("bi,ij->bj", x, torch.ones(4, 4))


def add_to(x: torch.Tensor) -> torch.Tensor:
    return torch.addmm(x, x, torch.ones(4, 4))


@pytest.mark.parametrize("between", [multiply_by_letters, attend, add_to, Doubled.apply])
def test_what_is_not_known_is_left_to_torch(between: Callable[[torch.Tensor], torch.Tensor]) -> None:
    sample = np.zeros((1, 6), np.float32)
    layout = Layout.of(lambda: Odd(between), sample)
    with pytest.raises(operations.Unknown), operations.Counter():
        operations.refuse_own_gradients(layout.probe(torch.zeros(1, 6)))
    assert flops_per_sample(layout, sample) == by_torch(layout, sample)


def test_it_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = prepare("fedavg", "digits", None, {"rounds": 1}).plan
    first = plan.flops
    monkeypatch.setattr(operations, "Counter", refuse)
    assert plan.flops == first == 4 * 64 * 10
