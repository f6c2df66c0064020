"""Which modules the native kernel can train: stages of convolution, recurrent cells or neither, then a perceptron."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from torch import nn

from shoal.kernels.fusion import Mixing, unmixed
from shoal.kernels.recurrent import Cell, cells_of
from shoal.kernels.rule import Rule
from shoal.kernels.stages import Stage, leaves_of, stages_of, steps_of
from shoal.types import Array


@dataclass(frozen=True)
class Network:
    """Stages of convolution, then linear layers with rectifiers between them: widths, and which layers have a bias.

    In place of stages there may be recurrent cells. Behind them a rectifier may be missing between layers, of which
    `rectified` tells, and one output is the log-odds of two classes.

    >>> Network.of(nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)))
    Network(widths=(4, 3, 2), bias=(True, False), stages=(), cells=(), rectified=(), head=None, mixing=None)
    >>> Network.of(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))).stages[0].relu
    True
    >>> Network.of(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))) is None
    True
    """

    widths: tuple[int, ...]
    bias: tuple[bool, ...]
    stages: tuple[Stage, ...] = ()
    cells: tuple[Cell, ...] = ()
    rectified: tuple[bool, ...] = ()  # of every layer what it is given; empty: of all but the first
    head: int | None = None  # the layer that is given the features, where a module has `features` and `head`
    mixing: Mixing | None = None  # with those of the model received, if there is some

    @classmethod
    def of(cls, module: nn.Module) -> Network | None:
        """The network that a module is, by the exact types of its parts; None if it is anything else."""
        plain, mixing = unmixed(module)
        found = None if mixing and any(hooked(m) for m in module.modules()) else cls.without_head(plain)
        head = None if found is None else head_of(plain, found)
        return None if found is None or (mixing and head is None) else replace(found, head=head, mixing=mixing)

    @classmethod
    def without_head(cls, module: nn.Module) -> Network | None:
        """The same without a look at where features end."""
        parts = list(steps_of(module))
        own = [id(m) for m in leaves_of(parts) if any(True for _ in m.parameters())]
        if len(set(own)) < len(own) or any(hooked(m) for m in module.modules()):
            return None
        if any(isinstance(m, nn.RNNBase) for m in module.modules()):
            return cls.reading(parts)
        if not all(p.requires_grad for p in module.parameters()):
            return None
        flat = next((i for i, m in enumerate(parts) if flattens(m)), None)
        stages = stages_of(parts[: flat or 0])
        layers = layers_of(parts if flat is None else parts[flat + 1 :])
        if stages is None or layers is None:
            return None
        widths = (layers[0].in_features, *(m.out_features for m in layers))
        return cls(widths, tuple(m.bias is not None for m in layers), stages)

    @classmethod
    def reading(cls, parts: Sequence[nn.Module]) -> Network | None:
        """The network of recurrent cells and then linear layers, with or without a rectifier between two of them."""
        first = next((i for i, m in enumerate(parts) if type(m) is nn.Linear), len(parts))
        cells, head = cells_of(parts[:first]), parts[first:]
        kinds = "".join("l" if type(m) is nn.Linear else "r" if type(m) is nn.ReLU else "?" for m in head)
        layers = [m for m in head if type(m) is nn.Linear]
        if (
            not cells
            or not re.fullmatch("l(r?l)*", kinds)
            or not all(p.requires_grad for m in layers for p in m.parameters())
        ):
            return None
        widths = (cells[-1].hidden, *(m.out_features for m in layers))
        if any(m.in_features != width for m, width in zip(layers, widths, strict=False)):
            return None
        rectified = tuple(i > 0 and kinds[i - 1] == "r" for i, kind in enumerate(kinds) if kind == "l")
        return cls(widths, tuple(m.bias is not None for m in layers), (), cells, rectified)

    @property
    def classes(self) -> int:
        """One output is the log-odds of two classes."""
        return max(self.widths[-1], 2)

    @cached_property
    def trainable(self) -> int:
        """Numbers that are trained."""
        front = sum(s.trainable for s in self.stages) + sum(c.trainable for c in self.cells)
        front += self.mixing.trainable if self.mixing else 0
        return front + sum(o * (i + b) for (i, o), b in zip(pairwise(self.widths), self.bias, strict=True))

    @cached_property
    def size(self) -> int:
        """All numbers of the vector: behind the trainable ones mean and variance of every map, and counters."""
        return self.trainable + sum(2 * s.maps + 1 for s in self.stages if s.batch_norm)

    def shapes(self, shape: Sequence[int]) -> tuple[list[list[int]], int]:
        """Of every stage, for samples of a shape: channels, height, width, and what it does, as the kernel takes it.

        Beside it how many numbers the first layer is given, 0 if images do not fit or are too small.
        """
        if self.cells:
            fits = len(shape) == 2 and shape[0] > 0 and shape[1] == self.cells[0].width
            return [], self.cells[-1].hidden if fits else 0
        if not self.stages:
            return [], math.prod(shape)
        if len(shape) != 3:
            return [], 0
        images, rows = [tuple(shape)], []
        for s in self.stages:
            row, after = s.row(images), s.after(images)
            if row is None or min(after) < 1:
                return [], 0
            rows.append(row)
            images.append(after)
        return rows, math.prod(images[-1])

    def multiplications(self, shape: Sequence[int]) -> int:
        """Of one sample on its way forward.

        >>> Network((4, 3, 2), (True, True)).multiplications((4,))
        18
        """
        rows = self.shapes(shape)[0]
        maps = sum(s.multiplications(row) for s, row in zip(self.stages, rows, strict=False))
        words = sum(shape[0] * c.multiplications for c in self.cells)
        mixed = 2 * self.mixing.channels * self.widths[self.head or 0] if self.mixing and self.mixing.layered else 0
        return words + maps + sum(i * o for i, o in pairwise(self.widths)) + mixed

    def follows(self, rule: Rule) -> bool:
        """Whether it can be trained by a rule: features are compared only where they are what some layer is given, and
        mixed with those of the model received only if nothing else is compared with it.
        """
        compared = rule.discrepancy
        return compared is None or (self.mixing is None and (not compared.features or self.head is not None))

    def takes(self, x: Array) -> bool:
        """Whether these are floats, as many in each sample as the first layer is given."""
        return x.dtype.name in ("float32", "float64") and self.shapes(x.shape[1:])[1] == self.widths[0]


def head_of(module: nn.Module, network: Network) -> int | None:
    """The layer that is given the features of a module that is `head(features(x))`, if they are what one is given."""
    if [name for name, _ in module.named_children()] != ["features", "head"]:
        return None
    features, head = (list(steps_of(part)) for part in module.children())
    layer = sum(type(m) is nn.Linear for m in features)
    if not layer:
        begins = type(head[0]) in (nn.Flatten, nn.Linear)
        return 0 if begins and (network.stages or network.cells) else None
    rectified = not network.rectified or network.rectified[layer]
    whole = type(features[-1]) is (nn.ReLU if rectified else nn.Linear)
    return layer if whole and type(head[0]) is nn.Linear else None


def layers_of(parts: Sequence[nn.Module]) -> list[nn.Linear] | None:
    """Linear layers with rectifiers between them; at least two outputs."""
    layers, between = parts[::2], parts[1::2]
    if len(parts) % 2 == 0 or any(type(m) is not nn.ReLU for m in between):
        return None
    linear = [m for m in layers if type(m) is nn.Linear]
    if len(linear) < len(layers) or any(a.out_features != b.in_features for a, b in pairwise(linear)):
        return None
    return linear if linear[-1].out_features > 1 else None


def flattens(module: nn.Module) -> bool:
    return type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)


def hooked(module: nn.Module) -> bool:
    """Whether somebody listens to, or changes, what the module does."""
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(module, name) for name in names)
