"""Convolutional networks for images of shape channels x height x width. Weights start as torch draws them.

`features` gives maps (channels x height x width), `head` flattens them and classifies. Where a paper writes ReLU, then
max pooling, the two stand here the other way round: they commute, so outputs and gradients are the same, and ReLU has a
quarter of the work.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from shoal.models.registry import model

Shape = tuple[int, ...]


class SameConv(nn.Conv2d):
    """A convolution of stride 2 whose output has half the size, rounded up, padded as TensorFlow's "same" does.

    The total padding may be odd; the extra row and column then stand below and to the right.

    >>> SameConv(1, 1, 5)(torch.zeros(1, 1, 24, 9)).shape
    torch.Size([1, 1, 12, 5])
    """

    def __init__(self, channels: int, maps: int, kernel: int) -> None:
        super().__init__(channels, maps, kernel, stride=2)
        self.kernel = kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        high, long = (max((-(-n // 2) - 1) * 2 + self.kernel - n, 0) for n in x.shape[-2:])
        x = F.pad(x, (long // 2, long - long // 2, high // 2, high - high // 2))
        return super().forward(x)


@model("cnn")
def cnn(shape: Shape, classes: int) -> nn.Module:
    """Two 3x3 convolutions (32 and 64 maps, size kept), each halved by pooling; dropout 0.5; one linear layer.

    >>> cnn((1, 8, 8), 10)(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    """
    channels, height, width = shape
    features = nn.Sequential(*halved(channels, 32, 3, 1), *halved(32, 64, 3, 1))
    head = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64 * (height // 4) * (width // 4), classes))
    return joined(features, head)


def leaf(shape: Shape, classes: int, *, maps: tuple[int, int] = (32, 64), dense: int = 2048) -> nn.Module:
    """Two 5x5 convolutions (size kept), each halved by pooling; one hidden layer. With the defaults, LEAF's network.

    >>> leaf((1, 28, 28), 62, maps=(16, 32), dense=128)(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 62])
    """
    channels, height, width = shape
    features = nn.Sequential(*halved(channels, maps[0], 5, 2), *halved(maps[0], maps[1], 5, 2))
    return joined(features, dense_head(maps[1] * (height // 4) * (width // 4), (dense,), classes))


def normed(shape: Shape, classes: int) -> nn.Module:
    """Two 5x5 convolutions (16 and 32 maps, size kept) with batch norm, each halved by pooling; one linear layer.

    >>> normed((1, 28, 28), 10).features(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 32, 7, 7])
    """
    channels, height, width = shape
    features = nn.Sequential(*halved(channels, 16, 5, 2, nn.BatchNorm2d(16)), *halved(16, 32, 5, 2, nn.BatchNorm2d(32)))
    return joined(features, dense_head(32 * (height // 4) * (width // 4), (), classes))


def lenet(
    shape: Shape, classes: int, *, maps: tuple[int, int] = (6, 16), dense: tuple[int, ...] = (120, 84)
) -> nn.Module:
    """Two 5x5 convolutions without padding, each halved by pooling; hidden layers. With the defaults, LeNet-5.

    >>> lenet((3, 32, 32), 10)(torch.zeros(5, 3, 32, 32)).shape
    torch.Size([5, 10])
    """
    channels, *size = shape
    height, width = (((n - 4) // 2 - 4) // 2 for n in size)
    features = nn.Sequential(*halved(channels, maps[0], 5, 0), *halved(maps[0], maps[1], 5, 0))
    return joined(features, dense_head(maps[1] * height * width, dense, classes))


def strided(shape: Shape, classes: int) -> nn.Module:
    """Two stages (32 and 64 maps) of two 3x3 convolutions and one 5x5 of stride 2; hidden layer 128; dropout 0.4.

    >>> strided((1, 28, 28), 10).features(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 64, 4, 4])
    """
    channels, *size = shape
    height, width = (-(-(-(-(n - 4) // 2) - 4) // 2) for n in size)
    features = nn.Sequential(*stage(channels, 32), *stage(32, 64))
    hidden = [nn.Linear(64 * height * width, 128), nn.ReLU(), nn.Dropout(0.4)]
    return joined(features, nn.Sequential(nn.Flatten(), *hidden, nn.Linear(128, classes)))


def joined(features: nn.Module, head: nn.Module) -> nn.Module:
    return nn.Sequential(OrderedDict(features=features, head=head))


def halved(channels: int, maps: int, kernel: int, padding: int, *norm: nn.Module) -> list[nn.Module]:
    """Convolution, normalisation if given, pooling by two, ReLU."""
    return [nn.Conv2d(channels, maps, kernel, padding=padding), *norm, nn.MaxPool2d(2), nn.ReLU()]


def stage(channels: int, maps: int) -> list[nn.Module]:
    convs = [nn.Conv2d(channels, maps, 3), nn.Conv2d(maps, maps, 3), SameConv(maps, maps, 5)]
    return [layer for conv in convs for layer in (conv, nn.ReLU())] + [nn.Dropout(0.4)]


def dense_head(inputs: int, hidden: tuple[int, ...], classes: int) -> nn.Module:
    """Flatten, hidden layers with ReLU, one linear layer."""
    layers: list[nn.Module] = [nn.Flatten()]
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, classes))
