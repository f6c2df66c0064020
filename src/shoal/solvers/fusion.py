"""Feature fusion: a model that sees what it received beside what it learns. Yao et al., ICIP 2019 (FedFusion)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from shoal.errors import BadInput
from shoal.kernels import Mixing
from shoal.layout import ModelFactory, as_input, call, seeded
from shoal.tree import Tree

Operator = Literal["conv", "multi", "single"]
GAMMA = "fusion.gamma"  # the name of the mixing weights in the layout


class Mix(nn.Module):
    """`gamma * theirs + (1 - gamma) * mine`, gamma one number for all channels or one for each.

    It starts at 0 and is learnt; one that is given stays, and is no part of the model.

    Args:
        channels: Of the features; 1 for one gamma.
        gamma: A value that stays, instead of one that is learnt.

    >>> Mix(3)(torch.ones(1, 3), torch.zeros(1, 3)).tolist(), Mix(1, 0.5)(torch.ones(1, 1), torch.zeros(1, 1)).item()
    ([[1.0, 1.0, 1.0]], 0.5)
    """

    def __init__(self, channels: int, gamma: float | None = None) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.full((channels,), gamma or 0.0), requires_grad=gamma is None)

    def forward(self, mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        gamma = self.gamma.view(1, -1, *[1] * (mine.dim() - 2))
        return gamma * theirs + (1 - gamma) * mine


class Convolve(nn.Module):
    """A 1x1 convolution from 2C channels to C, of the two feature maps on top of each other, the local one first.

    Args:
        channels: Of the features.
        maps: Whether features have height and width.

    >>> Convolve(3, maps=False)(torch.ones(5, 3), torch.zeros(5, 3)).shape
    torch.Size([5, 3])
    """

    def __init__(self, channels: int, maps: bool) -> None:
        super().__init__()
        self.mix = nn.Conv2d(2 * channels, channels, 1) if maps else nn.Linear(2 * channels, channels)

    def forward(self, mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.mix(torch.cat([mine, theirs], 1))
        return out


class Fusion(nn.Module):
    """`head(fusion(local features, features of the model received))`.

    The extractor received is the one held when training begins: `train()` copies it, frozen and in evaluation mode.
    Outside training both extractors are the same. The copy is no part of the model and does not travel.

    Args:
        features: The extractor, trained.
        fusion: Mixes two tensors of features: local, received.
        head: From features to scores.

    >>> model = Fusion(nn.Linear(4, 3), Mix(1), nn.Linear(3, 2))
    >>> model.train()(torch.ones(5, 4)).shape
    torch.Size([5, 2])
    """

    def __init__(self, features: nn.Module, fusion: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.local, self.fusion, self.head = features, fusion, head
        self.received: list[nn.Module] = []  # in a list, so that torch does not count it as a part

    @property
    def mixing(self) -> Mixing | None:
        """What the native kernel has to know to do the same; None if it cannot."""
        how = self.fusion
        if type(self) is not Fusion or type(how) not in (Mix, Convolve):
            return None
        if isinstance(how, Convolve):
            return Mixing(len(how.mix.weight), layered=True)
        assert isinstance(how, Mix)
        learnt, count = how.gamma.requires_grad, len(how.gamma)
        return Mixing(count, count) if learnt else Mixing(count, gamma=float(how.gamma[0]))

    def train(self, mode: bool = True) -> Fusion:
        self.received = [copy.deepcopy(self.local).requires_grad_(False).eval()] if mode else []
        super().train(mode)
        return self

    def features(self, *x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        mine = self.local(*x, **named)
        with torch.no_grad():
            theirs = self.received[0](*x, **named) if self.received else None
        out: torch.Tensor = self.fusion(mine, mine if theirs is None else theirs)
        return out

    def forward(self, *x: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.features(*x, **named))
        return out


@dataclass(frozen=True)
class Fused:
    """Makes a model with fusion from what makes a model with `features` and `head`.

    Args:
        model: What makes the model without fusion.
        operator: `conv`, `multi` or `single`.
        channels: Of its features.
        maps: Whether they have height and width.
        gamma: A value that stays, instead of one that is learnt (multi, single).

    >>> import numpy as np
    >>> from shoal.models import factory
    >>> model = Fused.of(factory("mlp", (4,), 3), np.zeros((1, 4)), "multi")()
    >>> [name for name, _ in model.named_parameters()][-3:]
    ['fusion.gamma', 'head.weight', 'head.bias']
    """

    model: ModelFactory
    operator: Operator
    channels: int
    maps: bool  # features have height and width
    gamma: float | None = None

    @classmethod
    def of(cls, model: ModelFactory, sample: Tree, operator: Operator, gamma: float | None = None) -> Fused:
        """The factory, after a look at the features of one sample."""
        module = with_features(model, "feature fusion")
        with torch.no_grad():
            seen = call(module.eval().features, as_input(module, sample))  # type: ignore[arg-type]
        if seen.dim() not in (2, 4):
            raise BadInput("feature fusion takes features of shape channels, or channels x height x width")
        return cls(model, operator, int(seen.shape[1]), seen.dim() == 4, gamma)

    def __call__(self) -> nn.Module:
        module = self.model()
        if self.operator == "conv":
            fusion: nn.Module = Convolve(self.channels, self.maps)
        else:
            fusion = Mix(self.channels if self.operator == "multi" else 1, self.gamma)
        return Fusion(module.features, fusion, module.head)  # type: ignore[arg-type]


def with_features(model: ModelFactory, who: str) -> nn.Module:
    """A module of the factory, if it is `head(features(x))`; else one sentence.

    Args:
        model: The factory.
        who: Who asks, for the sentence.

    Returns:
        A fresh module.

    >>> from shoal.models import factory
    >>> with_features(factory("mclr", (4,), 3), "an example").head
    Linear(in_features=4, out_features=3, bias=True)
    """
    module = seeded(model, 0)
    if not all(isinstance(getattr(module, part, None), nn.Module) for part in ("features", "head")):
        raise BadInput(f"{who} needs a model whose two halves are called `features` and `head`; the named models are")
    return module
