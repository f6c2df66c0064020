"""The native kernel against ordinary training by autograd: networks with convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch import nn

import shoal
from shoal.kernels import Network, native
from shoal.layout import Layout
from shoal.models import factory
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal
from shoal.types import Array
from tests.kernels.against_torch import errors_in_single, same_in_double

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")

Shape = tuple[int, int, int]


def head(inputs: int, classes: int = 5) -> list[nn.Module]:
    return [nn.Flatten(), nn.Linear(inputs, 7), nn.ReLU(), nn.Linear(7, classes)]


MODELS: dict[str, tuple[Shape, Callable[[], list[nn.Module]]]] = {
    "a stage": ((1, 8, 8), lambda: [nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), *head(64)]),
    "pooling first": ((2, 8, 6), lambda: [nn.Conv2d(2, 20, 3), nn.MaxPool2d(2), nn.ReLU(), *head(120)]),
    "sizes that pooling cuts off": ((3, 9, 7), lambda: [nn.Conv2d(3, 33, 3), nn.MaxPool2d(2), nn.ReLU(), *head(198)]),
    "no bias": ((1, 6, 6), lambda: [nn.Conv2d(1, 3, 5, padding=2, bias=False), nn.MaxPool2d(2), nn.Flatten(),
                                    nn.Linear(27, 5, bias=False)]),
    "no pooling, no rectifier": ((2, 5, 5), lambda: [nn.Conv2d(2, 3, 2), *head(48)]),
    "a kernel of one": ((4, 4, 5), lambda: [nn.Conv2d(4, 6, 1), nn.ReLU(), *head(120)]),
    "the most padding": ((1, 4, 4), lambda: [nn.Conv2d(1, 5, 3, padding=2), nn.ReLU(), *head(180)]),
    "two stages": ((1, 12, 12), lambda: [nn.Conv2d(1, 16, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(),
                                         nn.Conv2d(16, 32, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(), *head(288)]),
    "three stages": ((3, 17, 15), lambda: [nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 10, 3, padding=1),
                                           nn.MaxPool2d(2), nn.Conv2d(10, 64, 3), nn.ReLU(), *head(1280)]),
    "batch norm": ((1, 10, 10), lambda: [nn.Conv2d(1, 8, 5, padding=2), nn.BatchNorm2d(8), nn.MaxPool2d(2),
                                         nn.ReLU(), nn.Conv2d(8, 18, 3, bias=False),
                                         nn.BatchNorm2d(18, eps=1e-3, momentum=0.3), nn.ReLU(), *head(162)]),
    "a large layer": ((1, 8, 8), lambda: [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(1024, 270),
                                          nn.ReLU(), nn.Linear(270, 5)]),
    "wide and deep": ((3, 6, 6), lambda: [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                                          nn.Conv2d(16, 16, 7, padding=3), nn.MaxPool2d(2), nn.ReLU(), *head(144)]),
    "batch norm, cut off": ((2, 7, 9), lambda: [nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                                                *head(24)]),
}  # fmt: skip
SOLVERS = {
    "plain": SGD(epochs=2, batch=6, lr=0.1),
    "momentum": SGD(steps=7, batch=5, momentum=0.9, lr=0.05),
    "decay": SGD(epochs=2, batch=40, weight_decay=0.05, l2=0.02, lr_decay=0.9, lr=0.1),
    "proximal": SGD(epochs=2, batch=4, lr=0.1).plus(Proximal(0.7)),
    "nothing": SGD(epochs=0),
}


def problem(name: str, precision: str = "float64") -> tuple[Layout, Array, Array, Array]:
    shape, parts = MODELS[name]
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(19, *shape)), rng.integers(0, 5, 19)
    layout = Layout.of(lambda: nn.Sequential(*parts()), x[:1].astype(np.float32), precision)
    start_P = layout.init(Key(1))
    if layout.statistics.stop > layout.statistics.start:  # also factors below 0, where the largest is the smallest
        first = layout.slices("1.weight")[0]
        start_P[first] = rng.normal(size=first.stop - first.start)
    return layout, start_P, x.astype(layout.dtype), y


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("name", MODELS)
def test_in_double_precision_it_is_ordinary_training(name: str, solver: SGD) -> None:
    same_in_double(problem(name), solver)


@pytest.mark.parametrize("name", MODELS)
def test_in_single_precision_it_is_as_close_to_the_truth_as_torch(name: str) -> None:
    """Medians over all weights, against double precision; a unit may flip under another order of sums."""
    solver = SGD(epochs=2, batch=6, lr=0.1)
    for kernel, error_P, truth_P in errors_in_single(problem(name, "float32"), problem(name), solver):
        assert np.median(error_P) <= 3e-6 * np.abs(truth_P).max(), kernel


@pytest.mark.parametrize("name", ["two stages", "batch norm"])
def test_kept_momentum_goes_on_where_it_was(name: str) -> None:
    layout, start_P, x, y = problem(name)
    solver = SGD(epochs=1, batch=8, momentum=0.9, momentum_memory="kept", weight_decay=0.01)
    found: dict[str, Any] = {}
    for kernel in ("torch", "native"):
        net, now_P, speed = Net(layout, Arithmetic(kernel=kernel)), start_P, None
        for t in range(3):
            trained = solver(net, now_P, x, y, Key(4).at(t), speed)
            now_P, speed = now_P + trained.update_P, trained.velocity
        found[kernel] = now_P, speed
    for native_one, torch_one in zip(found["native"], found["torch"], strict=True):
        np.testing.assert_allclose(native_one, torch_one, rtol=0, atol=1e-11)


@pytest.mark.parametrize("model", ["fedgsp-leaf-small", "wecfl-fmnist", "fmnist-cnn"])
def test_networks_of_the_papers_train_natively(model: str) -> None:
    net = Net(
        Layout.of(factory(model, (1, 28, 28), 10), np.zeros((1, 1, 28, 28), np.float32)), Arithmetic(kernel="native")
    )
    assert net.native is not None


def test_a_number_that_is_none_shows() -> None:
    layout, start_P, x, y = problem("two stages", "float32")
    x[0, 0, 3, 3] = np.nan
    trained = SGD(epochs=1, batch=19, lr=0.1)(Net(layout, Arithmetic(kernel="native")), start_P, x, y, Key(0))
    assert np.isnan(trained.loss) and np.isnan(trained.update_P).any()


def test_images_that_do_not_fit_are_refused() -> None:
    layout, start_P, x, y = problem("two stages")
    net = Net(layout, Arithmetic(kernel="native"))
    for wrong in (x[..., :8], np.concatenate([x, x], axis=1)):
        with pytest.raises(ValueError, match="do not fit the model"):
            SGD()(net, start_P, wrong, y, Key(0))


def test_what_counts_as_a_stage() -> None:
    def network(*parts: nn.Module) -> Network | None:
        return Network.of(nn.Sequential(*parts, nn.Flatten(), nn.Linear(32, 2)))

    not_one = {
        "dilation": network(nn.Conv2d(1, 2, 3, dilation=2)),
        "groups": network(nn.Conv2d(2, 2, 3, groups=2)),
        "oblong": network(nn.Conv2d(1, 2, (3, 5))),
        "as a word": network(nn.Conv2d(1, 2, 3, padding="same")),
        "mirrored padding": network(nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect")),
        "pooling by three": network(nn.Conv2d(1, 2, 3), nn.MaxPool2d(3)),
        "overlapping pooling": network(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2, stride=1)),
        "pooling twice": network(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.MaxPool2d(2)),
        "rounding up": network(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2, ceil_mode=True)),
        "norm after the rectifier": network(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.BatchNorm2d(2)),
        "norm without factors": network(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, affine=False)),
        "norm with cumulative means": network(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2, momentum=None)),
        "pooling before": network(nn.MaxPool2d(2), nn.Conv2d(1, 2, 3)),
        "channels that do not meet": network(nn.Conv2d(1, 2, 3), nn.Conv2d(3, 2, 3)),
        "dropout": network(nn.Conv2d(1, 2, 3), nn.Dropout(0.1)),
        "no flattening": Network.of(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Linear(6, 2))),
    }
    assert not_one == dict.fromkeys(not_one)
    found = network(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d((2, 2), (2, 2)))
    assert found is not None and found.stages[0].pool and found.stages[0].norm == (1e-5, 0.1)


def test_whole_runs_find_the_same_groups_with_both_kernels() -> None:
    settings: dict[str, Any] = {"partition": "permuted", "groups": 4, "rounds": 2, "lr": 0.1, "batch": 10}
    runs = [
        shoal.run("flexcfl", "digits", model=small, engine="serial", kernel=k, seed=1, **settings)
        for k in ("torch", "native")
    ]
    assert runs[0].groups == runs[1].groups
    assert runs[0].summary["best_accuracy"] == pytest.approx(runs[1].summary["best_accuracy"], abs=0.02)


def small() -> nn.Module:
    stage = [nn.Conv2d(1, 8, 3, padding=1), nn.MaxPool2d(2), nn.ReLU()]
    return nn.Sequential(*stage, nn.Flatten(), nn.Linear(8 * 4 * 4, 10))
