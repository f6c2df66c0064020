"""Every variant that was built and that this processor can run trains alike, not only the one that is taken."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
from torch import nn

from shoal.errors import BadInput
from shoal.kernels import Native, native, why_none
from shoal.kernels.native import VARIANTS, WISH, built_as
from shoal.layout import Layout
from shoal.models.residual import Residual
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD

best = native()
runnable = [] if best is None else [name for name in VARIANTS[: VARIANTS.index(best[0]) + 1] if built_as(name)]


def convolutional() -> nn.Module:
    stage = [nn.Conv2d(3, 20, 3, padding=1), nn.BatchNorm2d(20), nn.MaxPool2d(2), nn.ReLU()]
    return nn.Sequential(*stage, nn.Conv2d(20, 9, 3), nn.ReLU(), nn.Flatten(), nn.Linear(9 * 2 * 2, 5))


def residual() -> nn.Module:
    body = nn.Sequential(nn.Conv2d(5, 18, 3, 2, 1), nn.GroupNorm(3, 18), nn.ReLU(), nn.Conv2d(18, 18, 3, padding=1))
    block = Residual(nn.Conv2d(5, 18, 1, 2), body)
    first = [nn.Conv2d(3, 5, 3, padding=1), nn.GroupNorm(1, 5), nn.ReLU(), nn.AvgPool2d(2, stride=1)]
    return nn.Sequential(*first, block, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(18, 5))


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 33), nn.ReLU(), nn.Linear(33, 5))


@pytest.mark.skipif(best is None, reason="there is no native kernel")
@pytest.mark.parametrize("name", runnable)
@pytest.mark.parametrize("model", [convolutional, residual, perceptron])
@pytest.mark.parametrize(("precision", "close"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("batch", [6, 16])
def test_it_is_ordinary_training(
    name: str, model: type[nn.Module], precision: str, close: float, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    layout = Layout.of(model, np.zeros((1, 3, 8, 8), np.float32), precision)
    x, y = rng.normal(size=(17, 3, 8, 8)).astype(layout.dtype), rng.integers(0, 5, 17)
    library = ctypes.CDLL(str(built_as(name)))
    monkeypatch.setattr(sys.modules[Native.__module__], "native", lambda: (name, library))
    start_P, solver = layout.init(Key(1)), SGD(epochs=2, batch=batch, lr=0.1, momentum=0.5)
    one, two = (solver(Net(layout, Arithmetic(kernel=k)), start_P, x, y, Key(4)) for k in ("torch", "native"))
    np.testing.assert_allclose(two.update_P, one.update_P, rtol=0, atol=close)


def chosen(wish: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What a fresh process with this wish would train with."""
    monkeypatch.setenv(WISH, wish)
    found = native.__wrapped__()
    return None if found is None else str(found[0])


@pytest.mark.parametrize("name", runnable)
def test_any_of_them_can_be_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(name, monkeypatch) == name
    assert chosen("none", monkeypatch) is None
    assert why_none() == "it is switched off by SHOAL_KERNEL_VARIANT=none"


def test_what_cannot_be_had_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        BadInput, match=r"^SHOAL_KERNEL_VARIANT=sse is not possible; use none or one of base, avx2, avx512$"
    ):
        chosen("sse", monkeypatch)
    monkeypatch.setattr(sys.modules["shoal.kernels.native"], "built_as", lambda name: None)
    assert chosen("", monkeypatch) is None
    assert why_none() == "it was not built when Shoal was installed, which needs a C compiler"
    with pytest.raises(BadInput, match=r"runs on this processor is nothing; leave the variable out$"):
        chosen("base", monkeypatch)


@pytest.mark.skipif(best is None, reason="there is no native kernel")
def test_only_what_the_processor_runs_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Old:
        """A library on a processor without any of the instruction sets."""

        def __init__(self, path: str) -> None:
            self.path = path

        def level(self) -> int:
            return 0

    monkeypatch.setattr(sys.modules["shoal.kernels.native"].ctypes, "CDLL", Old)
    monkeypatch.setattr(sys.modules["shoal.kernels.native"], "built_as", lambda name: f"{name}.so")
    assert chosen("", monkeypatch) == chosen("base", monkeypatch) == "base"
    with pytest.raises(BadInput, match=r"^SHOAL_KERNEL_VARIANT=avx2 is not possible: .* is base;"):
        chosen("avx2", monkeypatch)
