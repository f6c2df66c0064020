"""Which recurrent layers the native kernel can train: LSTM and GRU layers that read in one direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import nn

Handed = Literal["all states", "last state"]  # what a reader hands on, as its class says under `hands_on`


@dataclass(frozen=True)
class Cell:
    """One recurrent layer: the numbers of a word, its units, and how many bias vectors every gate has.

    >>> Cell(300, 100, 1).trainable == 4 * 100 * (300 + 100 + 1)
    True
    """

    width: int
    hidden: int
    biases: int
    gru: bool = False

    @property
    def gates(self) -> int:
        return 3 if self.gru else 4

    @property
    def trainable(self) -> int:
        """Numbers that are trained."""
        return self.gates * self.hidden * (self.width + self.hidden + self.biases)

    @property
    def multiplications(self) -> int:
        """Of one word on its way forward."""
        return self.gates * self.hidden * (self.width + self.hidden)


def cells_of(parts: Sequence[nn.Module]) -> tuple[Cell, ...] | None:
    """The layers of modules that read a sequence: all but the last hand on all states, the last one its last state.

    What a module hands on is what its own class, not one that it is derived from, says by `hands_on`; it has the
    recurrent layers under `cell`. None if that is not what they are.
    """
    found: list[Cell] = []
    for i, reader in enumerate(parts):
        wanted: Handed = "last state" if i == len(parts) - 1 else "all states"
        layers = layers_of_cell(reader.cell) if vars(type(reader)).get("hands_on") == wanted else None
        if layers is None:
            return None
        found += layers
    return None if any(a.hidden != b.width for a, b in pairwise(found)) else tuple(found)


def layers_of_cell(cell: object) -> list[Cell] | None:
    """The layers of torch's LSTM or GRU, or of a class that says of itself that it is one by `is_plain`."""
    if not isinstance(cell, nn.LSTM | nn.GRU):
        return None
    if type(cell) not in (nn.LSTM, nn.GRU) and not vars(type(cell)).get("is_plain"):
        return None
    if cell.bidirectional or cell.dropout or cell.proj_size or not cell.batch_first:
        return None
    found = []
    for layer in range(cell.num_layers):
        weights = [getattr(cell, f"weight_{name}_l{layer}") for name in ("ih", "hh")]
        biases = [getattr(cell, f"bias_{name}_l{layer}") for name in ("ih", "hh")] if cell.bias else []
        trained = [b.requires_grad for b in biases]
        if not all(w.requires_grad for w in weights) or (biases and not trained[0]):
            return None
        if any(torch.count_nonzero(b) for b, moves in zip(biases, trained, strict=True) if not moves):
            return None
        width = cell.input_size if not layer else cell.hidden_size
        found.append(Cell(width, cell.hidden_size, sum(trained), isinstance(cell, nn.GRU)))
    return found
