"""Softmax regression and the perceptron with one hidden layer. Weights start as torch or as Keras draws them."""

from __future__ import annotations

from collections import OrderedDict
from math import prod

from torch import nn

from shoal.errors import unknown
from shoal.models.registry import model

Shape = tuple[int, ...]
STARTS = ("torch", "glorot")


@model("mclr")
def mclr(shape: Shape, classes: int, *, start: str = "torch") -> nn.Module:
    """Multinomial logistic regression on the flattened sample.

    >>> mclr((1, 28, 28), 10)
    Sequential(
      (features): Flatten(start_dim=1, end_dim=-1)
      (head): Linear(in_features=784, out_features=10, bias=True)
    )
    """
    return started(nn.Sequential(OrderedDict(features=nn.Flatten(), head=nn.Linear(prod(shape), classes))), start)


@model("mlp")
def mlp(shape: Shape, classes: int, *, hidden: int = 128, start: str = "torch") -> nn.Module:
    """One hidden layer of rectified units on the flattened sample.

    >>> [tuple(p.shape) for p in mlp((60,), 10, hidden=32).parameters()]
    [(32, 60), (32,), (10, 32), (10,)]
    """
    features = nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), hidden), nn.ReLU())
    return started(nn.Sequential(OrderedDict(features=features, head=nn.Linear(hidden, classes))), start)


def started(module: nn.Module, start: str) -> nn.Module:
    """The module with weights as torch drew them, or drawn anew by Glorot's rule, with biases of 0 (departure D101).

    >>> started(nn.Linear(2, 4), "glorot").bias.tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    if start not in STARTS:
        raise unknown("start of weights", start, STARTS)
    if start == "glorot":
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
    return module
