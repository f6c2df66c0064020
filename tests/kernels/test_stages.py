"""The native kernel against ordinary training by autograd: strides, mean pooling, group norm, residual blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from torch import nn

from shoal.kernels import Network, native
from shoal.layout import Layout
from shoal.models import factory
from shoal.models.residual import Residual
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal
from shoal.types import Array

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")

Shape = tuple[int, int, int]


def head(inputs: int, classes: int = 5) -> list[nn.Module]:
    return [nn.Flatten(), nn.Linear(inputs, classes)]


def block(channels: int, maps: int, stride: int, groups: int) -> nn.Module:
    def conv(c: int, k: int, s: int) -> list[nn.Module]:
        norm = nn.GroupNorm(groups, maps) if groups else nn.BatchNorm2d(maps)
        return [nn.Conv2d(c, maps, k, s, padding=k // 2, bias=False), norm]

    shortcut = nn.Identity() if channels == maps and stride == 1 else nn.Sequential(*conv(channels, 1, stride))
    return Residual(shortcut, nn.Sequential(*conv(channels, 3, stride), nn.ReLU(), *conv(maps, 3, 1)))


MODELS: dict[str, tuple[Shape, Callable[[], list[nn.Module]]]] = {
    "stride 2": ((3, 8, 8), lambda: [nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(),
        *head(64)]),
    "stride 2, odd": ((1, 9, 7), lambda: [nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(),
        nn.Conv2d(3, 8, 3, 2, 1, bias=False),
                                          nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 0), *head(32)]),
    "stride 2 and 3, padding 2": ((2, 11, 10), lambda: [nn.Conv2d(2, 5, 5, 2, 2), nn.ReLU(), nn.Conv2d(5, 17, 4, 3, 2),
                                                        nn.MaxPool2d(2), *head(17)]),
    "a stride above the kernel": ((2, 7, 8), lambda: [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 6, 1, 2), nn.ReLU(),
                                                      nn.Conv2d(6, 6, 2, 3), *head(6)]),
    "more padding than kernel": ((2, 4, 5), lambda: [nn.Conv2d(2, 3, 1, padding=2), nn.ReLU(),
                                                     nn.Conv2d(3, 4, 2, 2, padding=3), nn.ReLU(), *head(196)]),
    "stride and pooling": ((3, 13, 12), lambda: [nn.Conv2d(3, 16, 3, 2, 2), nn.BatchNorm2d(16), nn.MaxPool2d(2),
        nn.ReLU(),
                                                 nn.Conv2d(16, 8, 3, 2, 1), *head(32)]),
    "mean pooling": ((3, 9, 10), lambda: [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(8, 5, 2), nn.ReLU(),
                                          nn.AvgPool2d(2, stride=1), *head(10)]),
    "means that overlap and leave": ((1, 8, 9), lambda: [nn.Conv2d(1, 17, 1), nn.AvgPool2d(3, stride=2),
        *head(17 * 12)]),
    "the mean of an image": ((3, 6, 5), lambda: [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), *head(16)]),
    "group norm": ((3, 8, 7), lambda: [nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ReLU(),
                                       nn.Conv2d(8, 16, 3, 2, 1, bias=False), nn.GroupNorm(2, 16), nn.ReLU(),
        *head(256)]),
    "layer norm": ((1, 6, 6), lambda: [nn.Conv2d(1, 3, 3), nn.GroupNorm(1, 3, eps=1e-3), nn.ReLU(), *head(48)]),
    "group norm and pooling": ((2, 11, 13), lambda: [nn.Conv2d(2, 18, 3), nn.GroupNorm(6, 18), nn.MaxPool2d(2),
        nn.ReLU(),
                                                   nn.Conv2d(18, 4, 2), nn.GroupNorm(4, 4), *head(48)]),
    "a block": ((3, 8, 8), lambda: [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), block(8, 8, 1, 2), nn.ReLU(),
        *head(512)]),
    "a narrower way": ((3, 9, 7), lambda: [nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(8, 16), nn.ReLU(),
                                           block(16, 20, 2, 5), nn.ReLU(), nn.AdaptiveAvgPool2d(1), *head(20)]),
    "blocks of batch norm": ((3, 8, 8), lambda: [nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
                                                 block(4, 4, 1, 0), nn.ReLU(), block(4, 16, 2, 0), nn.ReLU(),
                                                 nn.AdaptiveAvgPool2d(1), *head(16)]),
    "no rectifier behind the sum": ((2, 5, 5), lambda: [Residual(nn.Conv2d(2, 3, 1), nn.Conv2d(2, 3, 3, padding=1)),
                                                        nn.Conv2d(3, 4, 3), nn.ReLU(), *head(36)]),
    "the samples as shortcut": ((2, 5, 4), lambda: [Residual(nn.Identity(), nn.Conv2d(2, 2, 3, padding=1)), nn.ReLU(),
                                                    *head(40)]),
    "a body of one": ((2, 5, 4), lambda: [nn.Conv2d(2, 3, 3), nn.ReLU(), Residual(nn.Sequential(), nn.Conv2d(3, 3, 1)),
                                          nn.ReLU(), *head(18)]),
    "blocks in blocks": ((1, 6, 6), lambda: [nn.Conv2d(1, 4, 3), Residual(nn.Identity(), nn.Sequential(
        Residual(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, padding=1)), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))),
        nn.ReLU(),
        *head(64)]),
    "means aside": ((3, 8, 6), lambda: [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), Residual(
        nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(8, 16, 1)), nn.Conv2d(8, 16, 3, 2, 1)), nn.ReLU(), *head(192)]),
}  # fmt: skip
SOLVERS = {
    "plain": SGD(epochs=2, batch=6, lr=0.1),
    "one at a time": SGD(steps=7, batch=1, lr=0.02),
    "momentum": SGD(steps=7, batch=5, momentum=0.9, lr=0.05),
    "decay, whole": SGD(epochs=2, batch=40, weight_decay=0.05, l2=0.02, lr_decay=0.9, lr=0.1),
    "proximal, sixteen": SGD(epochs=2, batch=16, lr=0.1).plus(Proximal(0.7)),
}


def problem(name: str, precision: str = "float64") -> tuple[Layout, Array, Array, Array]:
    shape, parts = MODELS[name]
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(19, *shape)), rng.integers(0, 5, 19)
    layout = Layout.of(lambda: nn.Sequential(*parts()), x[:1].astype(np.float32), precision)
    start_P = layout.init(Key(1))
    moved = slice(layout.trainable.start, layout.trainable.stop)
    start_P[moved] += rng.normal(scale=0.05, size=moved.stop - moved.start)  # scales differ, shifts are not 0
    return layout, start_P.astype(layout.dtype), x.astype(layout.dtype), y


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("name", MODELS)
def test_in_double_precision_it_is_ordinary_training(name: str, solver: SGD) -> None:
    layout, start_P, x, y = problem(name)
    solver = replace(solver, batch=max(solver.batch, 2 if layout.statistics.stop > layout.statistics.start else 1))
    key = Key(4).at(3).of("ann")
    one, two = (solver(Net(layout, Arithmetic(kernel=k)), start_P, x, y, key) for k in ("torch", "native"))
    np.testing.assert_allclose(two.update_P, one.update_P, rtol=0, atol=1e-10 * np.abs(one.update_P).max())
    assert two.loss == pytest.approx(one.loss, rel=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_says_of_samples_is_what_torch_says(name: str) -> None:
    layout, start_P, x, y = problem(name)
    trained_P = start_P + SGD(epochs=1, batch=6)(Net(layout), start_P, x, y, Key(4)).update_P  # statistics have moved
    found = []
    for kernel in ("torch", "native"):
        net = Net(layout, Arithmetic(kernel=kernel))
        assert (net.native is not None) == (kernel == "native")
        net.load(trained_P)
        found.append(net.log_probabilities(x))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("batch", [6, 16])
@pytest.mark.parametrize("name", MODELS)
def test_in_single_precision_it_is_as_close_to_the_truth_as_torch(name: str, batch: int) -> None:
    """Medians over all weights, against double precision; a unit may flip under another order of sums."""
    layout, start_P, x, y = problem(name, "float32")
    exact, wide_P, _, _ = problem(name)
    wide_P[:] = start_P
    solver, key = SGD(epochs=2, batch=batch, lr=0.05), Key(4)
    truth_P = solver(Net(exact), wide_P, x.astype(float), y, key).update_P
    for kernel in ("torch", "native"):
        update_P = solver(Net(layout, Arithmetic(kernel=kernel)), start_P, x, y, key).update_P
        assert np.median(np.abs(update_P - truth_P)) <= 5e-6 * np.abs(truth_P).max(), kernel


@pytest.mark.parametrize("model", ["resnet8", "resnet20", "resnet8-batch-norm", "resnet20-batch-norm"])
def test_residual_networks_by_name_train_natively(model: str) -> None:
    module = factory(model, (3, 32, 32), 10)()
    network = Network.of(module)
    assert network is not None and network.head == 0
    assert network.trainable == sum(p.numel() for p in module.parameters())
    assert network.shapes((3, 32, 32))[1] == 64
    assert network.shapes((3, 33, 35))[1] == 64  # any size
    assert network.shapes((1, 32, 32))[1] == 0


def network(*parts: nn.Module) -> Network | None:
    return Network.of(nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), *parts, nn.Flatten(), nn.Linear(32, 2)))


class Scaled(Residual):
    """Says nothing of itself."""


def test_what_counts_as_a_stage() -> None:
    same = nn.Conv2d(2, 2, 3, padding=1)
    not_one = {
        "oblong strides": network(nn.Conv2d(2, 2, 3, stride=(1, 2))),
        "oblong padding": network(nn.Conv2d(2, 2, 3, padding=(1, 2))),
        "group norm without factors": network(nn.Conv2d(2, 2, 3), nn.GroupNorm(2, 2, affine=False)),
        "group norm that may divide by 0": network(nn.Conv2d(2, 2, 3), nn.GroupNorm(2, 2, eps=0.0)),
        "group norm alone": network(nn.ReLU(), nn.GroupNorm(2, 2)),
        "means with padding": network(nn.AvgPool2d(3, padding=1)),
        "oblong means": network(nn.AvgPool2d((2, 3))),
        "means rounded up": network(nn.AvgPool2d(2, ceil_mode=True)),
        "means by another number": network(nn.AvgPool2d(2, divisor_override=3)),
        "means of four parts": network(nn.AdaptiveAvgPool2d(2)),
        "means of samples": Network.of(
            nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))
        ),
        "a rectifier behind a mean": network(nn.AvgPool2d(2), nn.ReLU()),
        "a body that ends in a rectifier": network(Residual(nn.Identity(), nn.Sequential(same, nn.ReLU()))),
        "a body of nothing": network(Residual(nn.Identity(), nn.Sequential())),
        "a body that is a mean": network(Residual(nn.Identity(), nn.AvgPool2d(1))),
        "a body that is a sum": network(Residual(nn.Identity(), Residual(nn.Identity(), same))),
        "widths that do not meet": network(Residual(nn.Identity(), nn.Conv2d(2, 1, 1))),
        "one convolution in two places": network(Residual(same, nn.Sequential(same))),
        "pooling of a sum": network(Residual(nn.Identity(), same), nn.MaxPool2d(2)),
        "a class derived from it": network(Scaled(nn.Identity(), same)),
    }
    assert not_one == dict.fromkeys(not_one)
    found = network(Residual(nn.Identity(), same), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 1)))
    assert found is not None and [(s.source, s.plus, s.relu, s.mean) for s in found.stages] == [
        (0, -1, False, False),
        (1, 1, True, False),
        (2, -1, False, True),
    ]


def test_images_that_do_not_fit_have_no_stages() -> None:
    found = network(nn.Conv2d(2, 2, 3, stride=2))
    assert found is not None
    first, second = [0, -1, 0, 2, 9, 9, 2, 3, 1, 1, 1, 0, 0, 0, 1], [1, -1, 0, 2, 9, 9, 2, 3, 0, 2, 1, 0, 0, 0, 1]
    assert found.shapes((2, 9, 9)) == ([first, second], 32)
    assert found.shapes((2, 2, 2)) == ([], 0) and found.shapes((9, 9)) == ([], 0)
