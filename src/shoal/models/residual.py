"""Residual networks for images of shape channels x height x width. Weights start as torch draws them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import nn

from shoal.errors import BadInput
from shoal.models.registry import model

Shape = tuple[int, ...]
WIDTHS = (16, 32, 64)  # maps of the three parts


class Residual(nn.Module):
    """A shortcut plus a body: what both make of an image is added up.

    Args:
        shortcut: What goes past the body; `nn.Identity()` for the image itself.
        body: What is learned beside it.

    >>> Residual(nn.Identity(), nn.Conv2d(2, 2, 3, padding=1))(torch.zeros(5, 2, 8, 8)).shape
    torch.Size([5, 2, 8, 8])
    """

    adds_shortcut: ClassVar[bool] = True  # says what `forward` does: the native kernel asks the class itself

    def __init__(self, shortcut: nn.Module, body: nn.Module) -> None:
        super().__init__()
        self.shortcut, self.body = shortcut, body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        aside: torch.Tensor = self.shortcut(x)
        through: torch.Tensor = self.body(x)
        if aside.shape != through.shape:
            shapes = " and ".join("x".join(map(str, t.shape[1:])) for t in (aside, through))
            raise BadInput(f"a shortcut and a body give images of {shapes}, which cannot be added; make them alike")
        return aside + through


@model("resnet8")
def resnet8(shape: Shape, classes: int, *, groups: int = 8) -> nn.Module:
    """Eight layers with weights: a 3x3 convolution, three residual blocks of two, one linear layer; group norm.

    >>> sum(p.numel() for p in resnet8((3, 32, 32), 10).parameters())
    78042
    """
    return resnet(shape, classes, 1, group_norm("resnet8", groups))


@model("resnet20")
def resnet20(shape: Shape, classes: int, *, groups: int = 8) -> nn.Module:
    """Twenty layers with weights: a 3x3 convolution, nine residual blocks of two, one linear layer; group norm.

    >>> sum(p.numel() for p in resnet20((3, 32, 32), 10).parameters())
    272474
    """
    return resnet(shape, classes, 3, group_norm("resnet20", groups))


@model("resnet8-batch-norm")
def resnet8_batch_norm(shape: Shape, classes: int) -> nn.Module:
    """`resnet8` with batch norm, whose statistics travel with the model.

    >>> sum(p.numel() for p in resnet8_batch_norm((3, 32, 32), 10).parameters())
    78042
    """
    return resnet(shape, classes, 1, nn.BatchNorm2d)


@model("resnet20-batch-norm")
def resnet20_batch_norm(shape: Shape, classes: int) -> nn.Module:
    """`resnet20` with batch norm, whose statistics travel with the model.

    >>> sum(p.numel() for p in resnet20_batch_norm((3, 32, 32), 10).parameters())
    272474
    """
    return resnet(shape, classes, 3, nn.BatchNorm2d)


def resnet(shape: Shape, classes: int, blocks: int, norm: Callable[[int], nn.Module]) -> nn.Module:
    """He et al. 2016, section 4.2: three parts of 16, 32 and 64 maps, so many blocks each, then the mean of the image.

    Where size and width change, the shortcut is a 1x1 convolution of stride 2 with a norm (their option B).
    """
    layers: list[nn.Module] = [*normed(shape[0], WIDTHS[0], 3, 1, norm), nn.ReLU()]
    maps = WIDTHS[0]
    for width in WIDTHS:
        for i in range(blocks):
            stride = 2 if i == 0 and width > maps else 1
            layers += [block(maps, width, stride, norm), nn.ReLU()]
            maps = width
    features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1))
    head = nn.Sequential(nn.Flatten(), nn.Linear(maps, classes))
    return nn.Sequential(OrderedDict(features=features, head=head))


def block(channels: int, maps: int, stride: int, norm: Callable[[int], nn.Module]) -> nn.Module:
    """Two 3x3 convolutions beside the image, or beside what a 1x1 convolution makes of it."""
    body = nn.Sequential(*normed(channels, maps, 3, stride, norm), nn.ReLU(), *normed(maps, maps, 3, 1, norm))
    alike = channels == maps and stride == 1
    return Residual(nn.Identity() if alike else nn.Sequential(*normed(channels, maps, 1, stride, norm)), body)


def normed(channels: int, maps: int, kernel: int, stride: int, norm: Callable[[int], nn.Module]) -> list[nn.Module]:
    conv = nn.Conv2d(channels, maps, kernel, stride, padding=kernel // 2, bias=False)
    return [conv, norm(maps)]


def group_norm(name: str, groups: int) -> Callable[[int], nn.Module]:
    if WIDTHS[0] % groups:
        raise BadInput(
            f"groups={groups} of the model {name!r} does not divide its {WIDTHS[0]} maps; use 1, 2, 4, 8 or 16"
        )
    return lambda maps: nn.GroupNorm(groups, maps)
