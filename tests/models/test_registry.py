"""Every name: its exact count (the papers' tables of models), its composition, and its way through layout and net."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import torch
from torch import nn

from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.models import MODELS, Published, factory
from shoal.net import Net
from shoal.seeds import Key

RESNET8 = (1 * 9 * 16 + 32) + 2 * (16 * 9 * 16 + 32)  # one channel: the first convolution and the part of 16 maps
RESNET8 += (16 * 9 * 32 + 64) + (32 * 9 * 32 + 64) + (16 * 32 + 64)  # 32 maps, and the shortcut of 1x1
RESNET8 += (32 * 9 * 64 + 128) + (64 * 9 * 64 + 128) + (32 * 64 + 128) + (64 * 10 + 10)
RESNET20 = RESNET8 + 4 * (16 * 9 * 16 + 32) + 4 * (32 * 9 * 32 + 64) + 4 * (64 * 9 * 64 + 128)  # two blocks more each

COUNTS = {
    "mnist-mclr": 7_850,
    "mnist-mlp": 101_770,
    "mnist-cnn": 50_186,
    "femnist-mclr-26": 20_410,
    "femnist-mclr-10": 7_850,
    "femnist-mlp-26": 415_258,
    "femnist-mlp-10": 407_050,
    "femnist-cnn": 325_578,
    "synthetic-mclr": 610,
    "fmnist-cnn": 3_274_634,
    "sent140-gru": 175_938,
    "sent140-lstm": 232_386,
    "sent140-lstm-fedgroup": 243_861,
    "wecfl-fmnist": 29_034,
    "wecfl-cifar": 62_006,
    "fedgsp-leaf": 6_603_710,
    "fedgsp-leaf-small": 222_078,
    "cfl-cnn": 940_362,  # not in the paper: 2,432 + 51,264 + 819,712 + 65,664 + 1,290
    "cfl-notebook": (25 * 6 + 6) + (6 * 25 * 16 + 16) + (16 * 4 * 4 * 62 + 62),  # 18,506
    "mclr": 64 * 10 + 10,
    "mlp": 64 * 128 + 128 + 128 * 10 + 10,
    "cnn": (9 * 32 + 32) + (32 * 9 * 64 + 64) + (64 * 2 * 2 * 10 + 10),
    "resnet8": RESNET8,
    "resnet20": RESNET20,
    "resnet8-batch-norm": RESNET8,
    "resnet20-batch-norm": RESNET20,
}


def shape_of(name: str) -> tuple[int, ...]:
    return MODELS[name].shape if isinstance(MODELS[name], Published) else (1, 8, 8)


def outputs_of(name: str) -> int:
    return MODELS[name].outputs if isinstance(MODELS[name], Published) else 10


def layout_of(name: str) -> Layout:
    shape = shape_of(name)
    return Layout.of(factory(name, shape, min(outputs_of(name), 10)), np.zeros((1, *shape)))


def test_every_name_has_a_count() -> None:
    assert set(COUNTS) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_count(name: str) -> None:
    layout = layout_of(name)
    assert layout.trainable.stop - layout.trainable.start == COUNTS[name]
    assert layout.outputs == outputs_of(name)


@pytest.mark.parametrize("name", MODELS)
def test_is_head_of_features(name: str) -> None:
    torch.manual_seed(0)
    model = factory(name, shape_of(name), 2)().eval()
    x = torch.rand(3, *shape_of(name))
    out = model(x)
    assert torch.equal(out, model.get_submodule("head")(model.get_submodule("features")(x)))
    assert [n for n, _ in model.named_children()] == ["features", "head"]


@pytest.mark.parametrize("name", MODELS)
def test_net_round_trip(name: str) -> None:
    """What is loaded comes back bit for bit, and the module computes with it."""
    layout = layout_of(name)
    vector = layout.init(Key(1)("model"))
    net = Net(layout)
    net.load(vector)
    assert np.array_equal(net.vector(), vector)
    x = np.random.default_rng(0).random((3, *shape_of(name))).astype(np.float32)
    with torch.no_grad():
        alone = layout.module(vector)(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(net.scores(x), alone, rtol=0, atol=1e-5)  # images may lie in another order in memory
    assert not np.array_equal(vector, layout.init(Key(2)("model")))


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_trainable_tensor(name: str) -> None:
    layout = layout_of(name)
    net = Net(layout)
    net.load(layout.init(Key(1)))
    net.module.train()
    x = np.random.default_rng(0).random((8, *shape_of(name))).astype(np.float32)
    net.loss(net.module(net.tensor(x)), net.labels(np.arange(8) % 2)).backward()  # type: ignore[no-untyped-call]
    silent = [p.name for p in layout.parts if p.role == "trainable" and not net.grad[p.start : p.stop].any()]
    assert not silent


@pytest.mark.parametrize("name", MODELS)
def test_factory_is_a_value(name: str) -> None:
    made = factory(name, shape_of(name), 2)
    copy = pickle.loads(pickle.dumps(made))
    assert copy == made
    assert hash(copy) == hash(made)
    assert isinstance(copy(), nn.Module)


def test_batch_norm_statistics_are_part_of_the_vector() -> None:
    """Means and variances of 16 + 32 maps and two counters follow the trainable numbers."""
    layout = layout_of("wecfl-fmnist")
    assert (layout.trainable, layout.statistics, layout.counters) == (
        slice(0, 29_034),
        slice(29_034, 29_034 + 96),
        slice(29_130, 29_132),
    )
    net = Net(layout)
    net.load(layout.init(Key(0)))
    before = net.vector()
    assert before[layout.statistics].tolist() == ([0.0] * 16 + [1.0] * 16 + [0.0] * 32 + [1.0] * 32)
    net.module.train()
    net.module(torch.rand(4, 1, 28, 28))
    after = net.vector()
    assert after[layout.counters].tolist() == [1.0, 1.0]
    assert np.all(after[layout.statistics] != before[layout.statistics])
    assert np.array_equal(after[layout.trainable], before[layout.trainable])


def test_slices_of_lenet() -> None:
    """Dense 400-120-84-10: 48,120 + 10,164 + 850 = 59,134, the last 850; kernels are all numbers but 236 biases."""
    layout = layout_of("wecfl-cifar")
    rows = np.arange(layout.size)[None]
    assert layout.take(rows, "fc").shape[1] == 400 * 120 + 120 + 120 * 84 + 84 + 84 * 10 + 10
    assert layout.take(rows, "last").tolist() == [list(range(62_006 - 850, 62_006))]
    assert layout.take(rows, "kernels").shape[1] == 62_006 - (6 + 16 + 120 + 84 + 10)


def test_slices_of_the_batch_norm_net() -> None:
    """Scales and shifts of batch norm are no kernels; the only linear layer is both `fc` and `last`."""
    layout = layout_of("wecfl-fmnist")
    rows = np.arange(layout.size)[None]
    assert layout.take(rows, "kernels").shape[1] == 25 * 16 + 16 * 25 * 32 + 15_680
    assert np.array_equal(layout.take(rows, "fc"), layout.take(rows, "last"))
    assert layout.take(rows, "last").tolist() == [list(range(29_034 - 15_690, 29_034))]


def test_generic_names_take_shape_and_classes_from_the_data() -> None:
    for name in ("mclr", "mlp", "cnn"):
        assert factory(name, (3, 8, 8), 7)()(torch.zeros(2, 3, 8, 8)).shape == (2, 7)


def test_dense_models_of_a_paper_take_flat_samples() -> None:
    assert factory("mnist-mlp", (784,), 10)()(torch.zeros(2, 784)).shape == (2, 10)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (("mlpp", (4,), 2, {}), "unknown model 'mlpp'; did you mean 'mlp'?"),
        (("mlp", (4,), 2, {"hiden": 3}), "unknown argument of the model 'mlp' 'hiden'; did you mean 'hidden'?"),
        (("mlp", (4,), 2, {"hidden": 0}), "hidden of the model 'mlp' is a whole number from 1 on, not 0"),
        (("mlp", (4,), 2, {"hidden": True}), "hidden of the model 'mlp' is a whole number from 1 on, not True"),
        (("cnn", (1, 8, 8), 2, {"hidden": 3}), "the model 'cnn' takes no arguments"),
        (("cnn", (64,), 2, {}), "channels x height x width"),
        (("cnn", (1, 3, 8), 2, {}), "at least 4x4 pixels, not 1x3x8"),
        (("mnist-cnn", (1, 28, 28), 10, {"hidden": 3}), "it is fixed by its paper"),
        (("mnist-cnn", (3, 32, 32), 10, {}), "takes inputs of shape 1x28x28, not 3x32x32"),
        (("mnist-mclr", (783,), 10, {}), "takes inputs of shape 1x28x28, not 783"),
        (("mnist-mclr", (1, 28, 28), 62, {}), "tells 10 classes apart, the data has 62"),
        (("sent140-lstm-fedgroup", (25, 300), 3, {}), "tells 2 classes apart, the data has 3"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(
    call: tuple[str, tuple[int, ...], int, dict[str, int]], sentence: str
) -> None:
    name, shape, classes, args = call
    with pytest.raises(BadInput, match=re.escape(sentence)):
        factory(name, shape, classes, **args)


def test_arguments_by_place() -> None:
    assert factory("mlp", (4,), 2, 7)()(torch.zeros(1, 4)).shape == (1, 2)
    with pytest.raises(BadInput, match="is given 'hidden' twice"):
        factory("mlp", (4,), 2, 7, hidden=8)
    with pytest.raises(BadInput, match="takes hidden, start and no more, not 3 values"):
        factory("mlp", (4,), 2, 7, "torch", 8)
