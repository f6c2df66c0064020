"""Recurrent networks: one bias vector per gate that stays one, and what the last state is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from shoal.layout import Layout
from shoal.models import factory
from shoal.models.recurrent import LastState, OneBiasLSTM
from shoal.net import Net
from shoal.seeds import Key


@pytest.mark.parametrize("name", ["sent140-lstm", "sent140-lstm-fedgroup"])
def test_second_bias_does_not_travel_and_stays_zero(name: str) -> None:
    layout = Layout.of(factory(name, (25, 300), 2), np.zeros((1, 25, 300)))
    assert not [p.name for p in layout.parts if "bias_hh" in p.name]
    net = Net(layout)
    net.load(layout.init(Key(1)))
    net.module.train()
    loss = net.loss(net.module(torch.ones(2, 25, 300)), torch.tensor([0, 1]))
    loss.backward()  # type: ignore[no-untyped-call]
    net.params.sub_(net.grad)
    frozen = [p for n, p in net.module.named_parameters() if "bias_hh" in n]
    assert frozen
    assert all(p.grad is None and not p.any() for p in frozen)
    trained = [p for p in layout.parts if "bias_ih" in p.name]
    assert all(net.grad[p.start : p.stop].any() for p in trained)


def test_gru_has_both_bias_vectors() -> None:
    layout = Layout.of(factory("sent140-gru", (25, 300), 2), np.zeros((1, 25, 300)))
    assert len([p for p in layout.parts if "bias_hh" in p.name]) == 4  # two layers, two directions


def test_lstm_by_hand() -> None:
    """One unit, all weights zero, biases (i, f, g, o) = (0, 0, atanh 0.5, 0), two words.

    i = f = o = 1/2, g = 1/2; c1 = 1/4, c2 = 1/2 * 1/4 + 1/4 = 3/8, h2 = tanh(3/8) / 2.
    """
    cell = OneBiasLSTM(1, 1)
    for p in cell.parameters():
        nn.init.zeros_(p)
    with torch.no_grad():
        dict(cell.named_parameters())["bias_ih_l0"][2] = np.arctanh(0.5)
    out = LastState(cell)(torch.ones(1, 2, 1))
    assert out.item() == pytest.approx(np.tanh(3 / 8) / 2)


def test_last_state_of_both_directions() -> None:
    """Forward the state after the last word, backward that after the first one; of two layers, the upper one."""
    torch.manual_seed(0)
    cell = nn.GRU(3, 4, num_layers=2, batch_first=True, bidirectional=True)
    x = torch.rand(2, 5, 3)
    states = cell(x)[0]
    expected = torch.cat([states[:, -1, :4], states[:, 0, 4:]], 1)
    assert torch.equal(LastState(cell)(x), expected)


def test_width_comes_from_the_data() -> None:
    model = factory("sent140-lstm", (10, 50), 2)()
    assert model(torch.zeros(3, 10, 50)).shape == (3, 2)
