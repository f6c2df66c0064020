"""Recurrent networks for sequences of word vectors (words x width). Weights start as torch draws them.

The embedding is frozen and no part of the model: what comes in is already embedded. Padding stands in front, so the
last state is that after the last word.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar

import torch
from torch import nn

Shape = tuple[int, ...]


class OneBiasLSTM(nn.LSTM):
    """An LSTM with one bias vector per gate: of torch's two, the second is zero, frozen and no part of the model.

    >>> sum(p.numel() for p in OneBiasLSTM(300, 100).parameters() if p.requires_grad) == 4 * 100 * (300 + 100 + 1)
    True
    """

    is_plain: ClassVar[bool] = True  # it computes what torch's does: the native kernel may take it

    def __init__(self, width: int, hidden: int, *, layers: int = 1, both_ways: bool = False) -> None:
        super().__init__(width, hidden, layers, batch_first=True, bidirectional=both_ways)
        for name, p in self.named_parameters():
            if name.startswith("bias_hh"):
                p.requires_grad_(False).zero_()


class LastState(nn.Module):
    """The hidden state after the last word; of a layer that reads both ways, that of each direction, side by side.

    >>> LastState(OneBiasLSTM(3, 4, both_ways=True))(torch.zeros(2, 25, 3)).shape
    torch.Size([2, 8])
    """

    hands_on: ClassVar[str] = "last state"  # as the native kernel knows it

    def __init__(self, cell: nn.LSTM | nn.GRU) -> None:
        super().__init__()
        self.cell = cell
        self.directions = 2 if cell.bidirectional else 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        last = self.cell(x)[1]
        state: torch.Tensor = last[0] if isinstance(last, tuple) else last
        return torch.cat(tuple(state[-self.directions :]), 1)


class AllStates(nn.Module):
    """The hidden states after every word, as a sequence for the next layer.

    >>> AllStates(OneBiasLSTM(3, 4))(torch.zeros(2, 25, 3)).shape
    torch.Size([2, 25, 4])
    """

    hands_on: ClassVar[str] = "all states"  # as the native kernel knows it

    def __init__(self, cell: nn.LSTM | nn.GRU) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.cell(x)[0]
        return out


def gru(shape: Shape, classes: int) -> nn.Module:
    """Two GRUs that read both ways (64, then 32 units), a hidden layer of 64, dropout 0.5; two bias vectors per gate.

    >>> gru((25, 300), 2)(torch.zeros(5, 25, 300)).shape
    torch.Size([5, 2])
    """
    first = nn.GRU(shape[-1], 64, batch_first=True, bidirectional=True)
    second = nn.GRU(128, 32, batch_first=True, bidirectional=True)
    return two_way(first, second, classes)


def lstm(shape: Shape, classes: int) -> nn.Module:
    """Two LSTMs that read both ways (64, then 32 units), a hidden layer of 64, dropout 0.5; one bias vector per gate.

    >>> lstm((25, 300), 2)(torch.zeros(5, 25, 300)).shape
    torch.Size([5, 2])
    """
    return two_way(OneBiasLSTM(shape[-1], 64, both_ways=True), OneBiasLSTM(128, 32, both_ways=True), classes)


def stacked_lstm(shape: Shape, outputs: int) -> nn.Module:
    """Two LSTMs of 100 units, one bias vector per gate, and two linear layers; one output is a log-odds.

    >>> stacked_lstm((25, 300), 1)(torch.zeros(5, 25, 300)).shape
    torch.Size([5, 1])
    """
    features = LastState(OneBiasLSTM(shape[-1], 100, layers=2))
    head = nn.Sequential(nn.Linear(100, 30), nn.Linear(30, outputs))
    return nn.Sequential(OrderedDict(features=features, head=head))


def two_way(first: nn.LSTM | nn.GRU, second: nn.LSTM | nn.GRU, classes: int) -> nn.Module:
    features = nn.Sequential(AllStates(first), LastState(second))
    head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, classes))
    return nn.Sequential(OrderedDict(features=features, head=head))
