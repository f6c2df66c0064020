"""Which modules in front of a perceptron the native kernel can train: convolutions and what may follow one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torch import nn

Image = tuple[int, ...]  # channels, height, width


@dataclass(frozen=True)
class Stage:
    """A convolution and, each if it is there: a norm, an image that is added, a rectifier, max pooling by two.

    Or, with `mean`, mean pooling by windows of `kernel`, 0 being the whole image. Image 0 is the sample, image i + 1
    what stage i shows.

    >>> Stage(3, 16, 3, 1, False, stride=2).after([(3, 32, 32)])
    (16, 16, 16)
    """

    channels: int
    maps: int
    kernel: int
    padding: int
    biased: bool
    norm: tuple[float, float] | None = None  # eps, and of batch norm momentum
    relu: bool = False
    pool: bool = False
    stride: int = 1
    groups: int = 0  # of group norm; 0: a norm is batch norm
    source: int = 0  # the image that it reads
    plus: int = -1  # the image that is added; -1: none
    mean: bool = False

    @property
    def batch_norm(self) -> bool:
        return self.norm is not None and not self.groups

    @property
    def trainable(self) -> int:
        """Numbers that are trained: the kernel, a bias, and scale and shift of a norm."""
        ends = self.maps * (self.biased + 2 * (self.norm is not None))
        return 0 if self.mean else self.maps * self.channels * self.kernel**2 + ends

    def after(self, images: Sequence[Image]) -> Image:
        """The image that the stage shows, given all before it; one of no pixels if they are too small."""
        sizes = images[self.source][1:]
        grown = [(n + 2 * self.padding - (self.kernel or n)) // self.stride + 1 for n in sizes]
        return (self.maps, *(n // 2 if self.pool else n for n in grown))

    def row(self, images: Sequence[Image]) -> list[int] | None:
        """What the kernel is told (stage.h), given all images before; None if they do not fit."""
        given = images[self.source]
        if given[0] != self.channels or (self.plus >= 0 and images[self.plus] != self.after(images)):
            return None
        norm = 0 if self.norm is None else 2 if self.groups else 1
        does = [self.maps, self.kernel, self.padding, self.stride, int(self.biased), norm, self.groups]
        return [self.source, self.plus, int(self.mean), *given, *does, int(self.relu), 1 + self.pool]

    def multiplications(self, row: Sequence[int]) -> int:
        """Of one sample on its way forward."""
        return 0 if self.mean else row[4] * row[5] * self.channels * self.maps * self.kernel**2 // self.stride**2


def steps_of(module: nn.Module) -> Iterator[nn.Module]:
    """What a module does in order, nested sequences laid out flat."""
    if type(module) is nn.Sequential:
        for child in module:
            yield from steps_of(child)
    else:
        yield module


def leaves_of(parts: Sequence[nn.Module]) -> Iterator[nn.Module]:
    """The same with the parts of blocks in place of the blocks."""
    for part in parts:
        if vars(type(part)).get("adds_shortcut"):
            for child in part.children():
                yield from leaves_of(list(steps_of(child)))
        else:
            yield part


def stages_of(parts: Sequence[nn.Module]) -> tuple[Stage, ...] | None:
    """The stages that modules are, one after the other; None if they are anything else."""
    found: list[Stage] = []
    end = read(list(parts), 0, found)
    return None if end is None else tuple(found)


def read(rest: list[nn.Module], image: int, found: list[Stage]) -> int | None:
    """The stages of modules that are given an image are added to those found; the image that they show, if they do."""
    while rest:
        first = rest.pop(0)
        if vars(type(first)).get("adds_shortcut"):
            stage = read_sum(first, rest, image, found)
        else:
            stage = conv_stage(first, rest, image) or mean_stage(first, image, found)
        if stage is None or (stage.source and channels_of(stage.source, found) != stage.channels):
            return None
        found.append(stage)
        image = len(found)
    return image


def read_sum(block: nn.Module, rest: list[nn.Module], image: int, found: list[Stage]) -> Stage | None:
    """The last stage of a block that adds a shortcut to a body: both are read, and a rectifier behind them.

    Such a class says so itself, not one that it is derived from, by `adds_shortcut`; it has them under `shortcut` and
    `body`, in this order.
    """
    if [name for name, _ in block.named_children()] != ["shortcut", "body"] or list(block.parameters(recurse=False)):
        return None
    shortcut, body = block.children()
    aside = read([m for m in steps_of(shortcut) if type(m) is not nn.Identity], image, found)
    before = len(found)
    end = None if aside is None else read(list(steps_of(body)), image, found)
    if aside is None or end is None or len(found) == before:
        return None
    last = found.pop()
    channels = channels_of(aside, found) if found else last.channels
    if last.mean or last.relu or last.pool or last.plus >= 0 or last.maps != channels:
        return None
    relu = bool(rest) and type(rest[0]) is nn.ReLU
    if relu:
        rest.pop(0)
    return replace(last, relu=relu, plus=aside)


def channels_of(image: int, found: Sequence[Stage]) -> int:
    return found[image - 1].maps if image else found[0].channels


def conv_stage(conv: nn.Module, rest: list[nn.Module], image: int) -> Stage | None:
    """A convolution; a norm may come next, pooling and rectifier in any order after it, which all leave the rest."""
    if not isinstance(conv, nn.Conv2d) or not plain_conv(conv):
        return None
    norm, groups = None, 0
    if rest and type(rest[0]) in (nn.BatchNorm2d, nn.GroupNorm):
        seen = norm_of(rest.pop(0), conv.out_channels)
        if seen is None:
            return None
        norm, groups = seen
    tail = [rest.pop(0) for _ in range(2) if rest and (type(rest[0]) is nn.ReLU or halves(rest[0]))]
    if len({type(m) for m in tail}) < len(tail):
        return None
    relu, pool = (any(test(m) for m in tail) for test in (lambda m: type(m) is nn.ReLU, halves))
    kernel, padding, stride = conv.kernel_size[0], conv.padding[0], conv.stride[0]
    assert isinstance(padding, int)
    size = (conv.in_channels, conv.out_channels, kernel, padding, conv.bias is not None)
    return Stage(*size, norm, relu, pool, stride, groups, image)


def norm_of(norm: nn.Module, maps: int) -> tuple[tuple[float, float], int] | None:
    """Eps and momentum, and the groups of group norm; None if it has no factors or keeps other statistics."""
    if isinstance(norm, nn.GroupNorm):
        fits = norm.affine and norm.num_channels == maps and norm.eps > 0
        return ((float(norm.eps), 0.0), norm.num_groups) if fits else None
    assert isinstance(norm, nn.BatchNorm2d)
    fits = bool(norm.affine and norm.track_running_stats and norm.momentum)
    return ((float(norm.eps), float(norm.momentum or 0)), 0) if fits else None


def plain_conv(conv: nn.Conv2d) -> bool:
    """Square, with a stride and a padding by zeros that are the same both ways."""
    plain = conv.dilation == (1, 1) and conv.groups == 1 and conv.padding_mode == "zeros"
    alike = isinstance(conv.padding, tuple) and all(
        len({*sizes}) == 1 for sizes in (conv.kernel_size, conv.padding, conv.stride)
    )
    return type(conv) is nn.Conv2d and plain and alike


def halves(module: nn.Module) -> bool:
    """Max pooling by two."""
    if type(module) is not nn.MaxPool2d or module.ceil_mode or module.return_indices:
        return False
    settings = (module.kernel_size, module.stride, module.padding, module.dilation)
    return all(value in (wanted, (wanted, wanted)) for value, wanted in zip(settings, (2, 2, 0, 1), strict=True))


def mean_stage(module: nn.Module, image: int, found: Sequence[Stage]) -> Stage | None:
    """Mean pooling by square windows without padding, or over the whole image, of what another stage shows."""
    if type(module) is nn.AdaptiveAvgPool2d:
        kernel, stride = 0, 1
        fits = module.output_size in (1, (1, 1))
    elif type(module) is nn.AvgPool2d:
        (kernel, *other), (stride, *step), padding = map(pair, (module.kernel_size, module.stride, module.padding))
        plain = not module.ceil_mode and module.divisor_override is None
        fits = plain and [kernel, stride] == [*other, *step] and padding == (0, 0)
    else:
        return None
    if not fits or not image:
        return None
    maps = channels_of(image, found)
    return Stage(maps, maps, kernel, 0, False, stride=stride, source=image, mean=True)


def pair(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (value, value)
