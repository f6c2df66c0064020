"""The flat vector: its parts, its slices, and what stays out of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key


def deep() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3)
    )


@pytest.fixture
def layout() -> Layout:
    return Layout.of(deep, np.zeros((1, 1, 4, 4), np.float32))


def test_the_vector_is_trainable_then_statistics_then_counters(layout: Layout) -> None:
    # conv 18 + 2, batch norm 2 + 2, linear 40 + 5, linear 15 + 3 = 87; running mean and variance 4; one counter.
    assert (layout.trainable, layout.statistics, layout.counters) == (slice(0, 87), slice(87, 91), slice(91, 92))
    assert layout.size == 92
    assert (layout.outputs, layout.classes) == (3, 3)


def test_named_slices(layout: Layout) -> None:
    assert layout.slices("last") == (slice(69, 84), slice(84, 87))
    assert layout.slices("fc") == (slice(24, 64), slice(64, 69), slice(69, 84), slice(84, 87))
    assert layout.slices("kernels") == (slice(0, 18), slice(24, 64), slice(69, 84))
    assert layout.slices("1.running_var") == (slice(89, 91),)
    rows = np.arange(92.0)[None]
    assert layout.take(rows, "last")[0].tolist() == list(range(69, 87))
    assert np.shares_memory(layout.take(rows, "trainable"), rows)  # one piece: no copy
    assert layout.mask("kernels").sum() == 18 + 40 + 15
    with pytest.raises(BadInput, match="no 'first'"):
        layout.slices("first")


def test_a_model_without_buffers_has_empty_slices() -> None:
    layout = Layout.of(lambda: nn.Linear(2, 2), np.zeros((1, 2)))
    assert (layout.statistics, layout.counters) == (slice(6, 6), slice(6, 6))


def test_module_and_vector_are_the_same(layout: Layout) -> None:
    vector = layout.init(Key(1))
    net = Net(layout)
    net.load(vector)
    assert net.vector().tobytes() == vector.tobytes()
    x = np.random.default_rng(0).normal(size=(3, 1, 4, 4)).astype(np.float32)
    expected = layout.module(vector)(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_array_equal(net.scores(x), expected)


def test_loading_a_vector_forgets_the_one_before(layout: Layout) -> None:
    net, first, second = Net(layout), layout.init(Key(1)), layout.init(Key(2))
    net.load(first)
    net.module.train()(torch.randn(4, 1, 4, 4)).sum().backward()
    net.load(second)
    assert net.vector().tobytes() == second.tobytes()


def test_many_models_differ_and_the_first_is_the_single_one(layout: Layout) -> None:
    many = layout.init_many(3, Key(7))
    assert many[0].tobytes() == layout.init(Key(7)).tobytes()
    assert len({row.tobytes() for row in many}) == 3


def test_drawing_a_model_leaves_the_callers_random_state_alone(layout: Layout) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    layout.init(Key(0))
    assert torch.equal(torch.rand(2), expected)


def test_frozen_and_tied_parameters() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.weight = self.a.weight
            self.frozen = nn.Parameter(torch.randn(3), requires_grad=False)
            self.register_buffer("scratch", torch.zeros(9), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.b(self.a(x))
            return out

    layout = Layout.of(Tied, np.zeros((1, 4)))
    assert layout.size == 16 + 4 + 4
    a, b = Net(layout), Net(layout)
    assert torch.equal(a.module.frozen, b.module.frozen)  # type: ignore[arg-type]
    a.load(np.arange(24, dtype=np.float32))
    assert a.module.b.weight.data_ptr() == a.module.a.weight.data_ptr()  # type: ignore[union-attr, operator]


def test_double_precision_is_kept() -> None:
    layout = Layout.of(lambda: nn.Linear(2, 2), np.zeros((1, 2)), "float64")
    vector = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) + 1e-12
    net = Net(layout)
    net.load(vector)
    assert net.vector().tobytes() == vector.tobytes()
    assert layout.bytes == 48


def test_one_output_is_the_log_odds_of_class_one() -> None:
    layout = Layout.of(lambda: nn.Linear(1, 1, bias=False), np.zeros((1, 1)))
    assert (layout.outputs, layout.classes) == (1, 2)
    net = Net(layout)
    net.load(np.array([2.0], np.float32))
    # p(1 | x = 1) = 1 / (1 + e^-2) = 0.8808
    np.testing.assert_allclose(np.exp(net.log_probabilities(np.ones((1, 1)))), [[0.11920292, 0.88079708]], rtol=1e-5)
    loss = net.loss(torch.tensor([[2.0]]), torch.tensor([1]))
    assert float(loss) == pytest.approx(-np.log(0.88079708), rel=1e-5)
