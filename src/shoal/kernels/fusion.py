"""How a network mixes its features with those of the model received, told so that the native kernel can do it."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Mixing:
    """`gamma theirs + (1 - gamma) mine`, or a layer from both, mine first, that is the same at every pixel.

    A module that mixes has it as `mixing`, and its parts as `local`, `fusion` and `head`, in this order.

    >>> Mixing(5, gammas=1).trainable, Mixing(5, layered=True).trainable
    (1, 55)
    """

    channels: int
    gammas: int = 0  # that are trained: none, one for all channels, or one for each
    gamma: float = 0.0  # if none is trained
    layered: bool = False

    @property
    def trainable(self) -> int:
        """Numbers that are trained."""
        return self.channels * (2 * self.channels + 1) if self.layered else self.gammas

    @property
    def kind(self) -> int:
        """As the kernel calls it: MIXED or LAYERED in sgd.c."""
        return 2 if self.layered else 1


def unmixed(module: nn.Module) -> tuple[nn.Module, Mixing | None]:
    """The module without what mixes its features, and that, if there is something."""
    mixing = getattr(module, "mixing", None)
    if not isinstance(mixing, Mixing) or [name for name, _ in module.named_children()] != ["local", "fusion", "head"]:
        return module, None
    local, _, head = module.children()
    return nn.Sequential(OrderedDict(features=local, head=head)), mixing
