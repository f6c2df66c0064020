"""Softmax regression and the perceptron with one hidden layer. Weights start as torch draws them."""

from __future__ import annotations

from collections import OrderedDict
from math import prod

from torch import nn

from shoal.models.registry import model

Shape = tuple[int, ...]


@model("mclr")
def mclr(shape: Shape, classes: int) -> nn.Module:
    """Multinomial logistic regression on the flattened sample.

    >>> mclr((1, 28, 28), 10)
    Sequential(
      (features): Flatten(start_dim=1, end_dim=-1)
      (head): Linear(in_features=784, out_features=10, bias=True)
    )
    """
    return nn.Sequential(OrderedDict(features=nn.Flatten(), head=nn.Linear(prod(shape), classes)))


@model("mlp")
def mlp(shape: Shape, classes: int, *, hidden: int = 128) -> nn.Module:
    """One hidden layer of rectified units on the flattened sample.

    >>> [tuple(p.shape) for p in mlp((60,), 10, hidden=32).parameters()]
    [(32, 60), (32,), (10, 32), (10,)]
    """
    features = nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), hidden), nn.ReLU())
    return nn.Sequential(OrderedDict(features=features, head=nn.Linear(hidden, classes)))
