"""Softmax regression by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.models import factory
from shoal.net import Net


def test_mclr_by_hand() -> None:
    """W = [[1 2 3 4], [0 -1 0 1]], b = [0.5, -0.5], x = [[1 0], [2 1]] flattened to 1 0 2 1.

    Scores 1 + 6 + 4 + 0.5 = 11.5 and 1 - 0.5 = 0.5; the loss of class 1 is log(1 + e^11) = 11 + log(1 + e^-11).
    """
    net = Net(Layout.of(factory("mclr", (1, 2, 2), 2), np.zeros((1, 1, 2, 2))))
    net.load(np.array([1, 2, 3, 4, 0, -1, 0, 1, 0.5, -0.5], np.float32))
    x = np.array([[[[1.0, 0.0], [2.0, 1.0]]]])
    assert net.scores(x).tolist() == [[11.5, 0.5]]
    loss = float(net.loss(torch.from_numpy(net.scores(x)), torch.tensor([1])))
    assert loss == pytest.approx(11 + np.log1p(np.exp(-11)))


def test_mlp_by_hand() -> None:
    """Hidden units relu(x1 - x2) and relu(x2 - x1); one output row adds them, the other subtracts: |d| and d."""
    net = Net(Layout.of(factory("mlp", (2,), 2, hidden=2), np.zeros((1, 2))))
    net.load(np.array([1, -1, -1, 1, 0, 0, 1, 1, 1, -1, 0, 0], np.float32))
    assert net.scores(np.array([[5.0, 2.0], [2.0, 5.0]])).tolist() == [[3.0, 3.0], [3.0, -3.0]]


@pytest.mark.parametrize("name", ["mclr", "mlp"])
def test_glorots_rule(name: str) -> None:
    """Weights reach sqrt(6 / (in + out)) and no farther, biases are 0; torch's reach 1 / sqrt(in)."""
    for start in ("glorot", "torch"):
        for layer in factory(name, (1, 28, 28), 10, start=start)().modules():
            if isinstance(layer, torch.nn.Linear):
                into, out = layer.in_features, layer.out_features
                edge = (6 / (into + out)) ** 0.5 if start == "glorot" else into**-0.5
                assert 0.9 * edge < float(layer.weight.detach().abs().max()) <= edge * (1 + 1e-6)
                assert (float(layer.bias.detach().abs().max()) == 0) == (start == "glorot")
    with pytest.raises(BadInput, match="unknown start of weights 'keras'"):
        factory(name, (1, 28, 28), 10, start="keras")()
