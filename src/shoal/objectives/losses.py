"""The losses that tasks have by themselves, by kind of target, and what outputs say of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch.nn import functional as F

Targets = Literal["classes", "labels", "tokens", "floats"]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Weights = Sequence[float] | None


def class_entropy(outputs: torch.Tensor, y: torch.Tensor, weights: Weights = None) -> torch.Tensor:
    """Cross entropy of each sample times the weight of its class; one output is the log-odds of class 1.

    >>> class_entropy(torch.zeros(2, 2), torch.tensor([0, 1]), (1.0, 3.0)).div(torch.tensor(2).log()).tolist()
    [1.0, 3.0]
    """
    if outputs.shape[1] == 1:
        loss = F.binary_cross_entropy_with_logits(outputs[:, 0], y.to(outputs.dtype), reduction="none")
    else:
        loss = F.cross_entropy(outputs, y, reduction="none")
    return loss if weights is None else loss * outputs.new_tensor(weights)[y]


def label_entropy(outputs: torch.Tensor, y: torch.Tensor, weights: Weights = None) -> torch.Tensor:
    """Binary cross entropy of each label, those that are 1 times their weight, B x C.

    >>> label_entropy(torch.zeros(1, 2), torch.tensor([[0, 1]]), (5.0, 3.0)).div(torch.tensor(2).log()).tolist()
    [[1.0, 3.0]]
    """
    weight = None if weights is None else outputs.new_tensor(weights)
    return F.binary_cross_entropy_with_logits(outputs, y.to(outputs.dtype), pos_weight=weight, reduction="none")


def squared_error(outputs: torch.Tensor, y: torch.Tensor, weights: Weights = None) -> torch.Tensor:
    """The squared error of each number.

    >>> squared_error(torch.tensor([[1.0], [2.0]]), torch.tensor([1.5, 4.0])).tolist()
    [[0.25], [4.0]]
    """
    return (outputs - y.to(outputs.dtype).reshape(outputs.shape)).square()


def class_logs(outputs: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of classes, along the last axis; two columns also where there is one output.

    >>> class_logs(torch.zeros(1, 1)).exp().tolist()
    [[0.5, 0.5]]
    """
    if outputs.shape[-1] == 1:
        return F.logsigmoid(torch.cat([-outputs, outputs], -1))
    return F.log_softmax(outputs, -1)


def values(outputs: torch.Tensor) -> torch.Tensor:
    """Outputs as they are; of a single number per sample, without its axis.

    >>> values(torch.zeros(3, 1)).shape, values(torch.zeros(3, 2)).shape
    (torch.Size([3]), torch.Size([3, 2]))
    """
    return outputs[:, 0] if outputs.dim() == 2 and outputs.shape[1] == 1 else outputs


LOSS: dict[str, Callable[[torch.Tensor, torch.Tensor, Weights], torch.Tensor]] = {
    "classes": class_entropy,
    "labels": label_entropy,
    "tokens": class_entropy,
    "floats": squared_error,
}
SAID: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "classes": class_logs,
    "labels": torch.sigmoid,
    "tokens": class_logs,
    "floats": values,
}
