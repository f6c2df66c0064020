"""The native kernel against ordinary training by autograd: perceptrons, in both forms of the first layer."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.errors import BadInput
from shoal.kernels import Native, Network, Rule, dual_pays, native
from shoal.kernels.stages import Stage
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")

RULES = {
    "plain": Rule(0.1),
    "momentum": Rule(0.05, momentum=0.9),
    "decay": Rule(0.1, decay_kernels=0.03, decay_biases=0.01),
    "kernels only": Rule(0.1, decay_kernels=0.02),
    "proximal": Rule(0.1, pull=0.5),
    "all": Rule(0.05, 0.5, 0.02, 0.01, 0.3),
}
SHAPES = [(20, 10), (64, 3), (33, 17, 5), (20, 30, 12, 7), (5, 2)]


def perceptron(widths: tuple[int, ...], bias: bool = True) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i, o in pairwise(widths):
        layers += [nn.Linear(i, o, bias=bias), nn.ReLU()]
    return nn.Sequential(nn.Flatten(), *layers[:-1])


def problem(widths: tuple[int, ...], dtype: Any = np.float64, bias: bool = True) -> tuple[Net, Any, Any, Any]:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(37, widths[0])), rng.integers(0, widths[-1], 37)
    layout = Layout.of(lambda: perceptron(widths, bias), x[:1], np.dtype(dtype).name)
    return Net(layout), layout.init(Key(1)), x.astype(dtype), y


def batches() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    order = np.concatenate([rng.permutation(37) for _ in range(4)])
    return order, np.array([*(e * 37 + i for e in range(4) for i in range(0, 37, 8)), 4 * 37])


def by_hand(net: Net, start: Any, x: Any, y: Any, order: Any, cuts: Any, rule: Rule) -> tuple[Any, float]:
    """The rule as it is written, on autograd's gradients."""
    net.load(start)
    params = list(net.module.parameters())
    first = [p.detach().clone() for p in params]
    speed = [torch.zeros_like(p) for p in params]
    loss_sum = 0.0
    for i, j in pairwise(cuts):
        q = torch.from_numpy(order[i:j])
        loss = net.loss(net.module(torch.from_numpy(x)[q]), torch.from_numpy(y)[q])
        loss_sum += loss.item() * len(q)
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g, v, w0 in zip(params, grads, speed, first, strict=True):
                decay = rule.decay_kernels if p.dim() > 1 else rule.decay_biases
                v.mul_(rule.momentum).add_(g + decay * p + rule.pull * (p - w0))
                p.sub_(v, alpha=rule.lr)
    return net.vector() - start, loss_sum


@pytest.mark.parametrize("dual", [False, True], ids=["direct", "dual"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("widths", SHAPES, ids=str)
def test_in_double_precision_it_is_ordinary_training(widths: tuple[int, ...], rule: Rule, dual: bool) -> None:
    net, start, x, y = problem(widths)
    expected, loss_sum = by_hand(net, start, x, y, *batches(), rule)
    dense = Native(Network(widths, (True,) * (len(widths) - 1)), np.dtype(np.float64))
    update, loss = dense.train(start, x, y, *batches(), rule, dual=dual)
    np.testing.assert_allclose(update, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert loss == pytest.approx(loss_sum, rel=1e-12)


@pytest.mark.parametrize("dual", [False, True], ids=["direct", "dual"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_in_single_precision_it_is_as_close_to_the_truth_as_torch(rule: Rule, dual: bool) -> None:
    """One step exactly, many steps by the median: a unit may flip under another order of sums."""
    widths = (33, 17, 5)
    net, start, x, y = problem(widths)
    dense = Native(Network(widths, (True, True)), np.dtype(np.float32))
    small = (start.astype(np.float32), x.astype(np.float32), y)
    for cuts, most in ((np.array([0, 8]), 1e-6), (batches()[1], 1e-5)):
        order = batches()[0][: cuts[-1]]
        expected, _ = by_hand(net, start.astype(np.float32), x.astype(np.float32).astype(float), y, order, cuts, rule)
        update, _ = dense.train(*small, order, cuts, rule, dual=dual)
        assert np.median(np.abs(update - expected)) <= most * np.abs(expected).max()


@pytest.mark.parametrize("dual", [False, True], ids=["direct", "dual"])
def test_layers_without_bias(dual: bool) -> None:
    net, start, x, y = problem((12, 9, 4), bias=False)
    expected, _ = by_hand(net, start, x, y, *batches(), RULES["all"])
    dense = Native(Network((12, 9, 4), (False, False)), np.dtype(np.float64))
    update, _ = dense.train(start, x, y, *batches(), RULES["all"], dual=dual)
    np.testing.assert_allclose(update, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("model", [(20, 10), (20, 16, 5)], ids=str)
@pytest.mark.parametrize(
    "solver",
    [
        SGD(epochs=3, batch=8, lr=0.1),
        SGD(steps=7, batch=5, momentum=0.9),
        SGD(epochs=2, batch=40, weight_decay=0.01, l2=0.02, lr_decay=0.9),
        SGD(epochs=2, batch=3).plus(Proximal(0.7), Proximal(0.2)),
        SGD(epochs=0),
        SGD(epochs=2, shuffle=False),
    ],
    ids=repr,
)
def test_the_solver_does_the_same_with_both_kernels(model: tuple[int, ...], solver: SGD) -> None:
    net, start, x, y = problem(model)
    dense = Net(net.layout, Arithmetic(kernel="native"))
    key = Key(4).at(3).of("ann")
    one, two = solver(net, start, x, y, key), solver(dense, start, x, y, key)
    np.testing.assert_allclose(two.update_P, one.update_P, rtol=0, atol=1e-12)
    assert two.loss == pytest.approx(one.loss, rel=1e-12)


def test_kept_momentum_goes_on_where_it_was() -> None:
    net, start, x, y = problem((20, 16, 5))
    dense = Net(net.layout, Arithmetic(kernel="native"))
    solver = SGD(epochs=1, batch=8, momentum=0.9, momentum_memory="kept", weight_decay=0.01)
    speed: dict[str, Any] = {"torch": None, "native": None}
    now = {"torch": start, "native": start}
    for t in range(3):
        for name, using in (("torch", net), ("native", dense)):
            trained = solver(using, now[name], x, y, Key(4).at(t), speed[name])
            now[name], speed[name] = now[name] + trained.update_P, trained.velocity
    np.testing.assert_allclose(now["native"], now["torch"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(speed["native"], speed["torch"], rtol=0, atol=1e-12)


def test_a_diverging_client_shows() -> None:
    _, start, x, y = problem((20, 16, 5), np.float32)
    dense = Native(Network((20, 16, 5), (True, True)), np.dtype(np.float32))
    for dual in (False, True):
        update, loss = dense.train(start, x * np.float32(1e30), y, *batches(), Rule(1e10), dual=dual)
        assert not np.isfinite(update).all() and not np.isfinite(loss)


def test_what_does_not_fit_is_refused_before_memory_is_touched() -> None:
    _, start, x, y = problem((20, 10))
    dense = Native(Network((20, 10), (True,)), np.dtype(np.float64))
    with pytest.raises(ValueError, match="a label outside 0 to 9"):
        dense.train(start, x, y + 5, *batches(), Rule(0.1))
    with pytest.raises(ValueError, match="samples of shape 19 do not fit the model"):
        dense.train(start, x[:, :19], y, *batches(), Rule(0.1))


def test_what_counts_as_a_perceptron() -> None:
    class Own(nn.Linear):
        pass

    hooked = nn.Sequential(nn.Linear(2, 2))
    hooked[0].register_forward_hook(lambda *_: None)
    frozen = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    frozen[0].weight.requires_grad_(False)
    shared = nn.Linear(2, 2)
    not_one = {
        "dropout": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Dropout(0.1), nn.Linear(3, 2)),
        "a subclass": nn.Sequential(Own(2, 2)),
        "a hook": hooked,
        "frozen": frozen,
        "one output": nn.Sequential(nn.Linear(2, 1)),
        "ends in ReLU": nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
        "the same layer twice": nn.Sequential(shared, nn.ReLU(), shared),
        "two layers in a row": nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)),
        "nothing": nn.Sequential(),
    }
    assert {name: Network.of(module) for name, module in not_one.items()} == dict.fromkeys(not_one)
    assert Network.of(nn.Linear(4, 3)) == Network((4, 3), (True,))
    again = nn.ReLU()
    assert Network.of(nn.Sequential(nn.Linear(4, 3), again, nn.Linear(3, 3), again, nn.Linear(3, 2))) is not None


def test_the_form_is_a_matter_of_size_alone() -> None:
    """784 inputs, 10 outputs, 20 epochs of 62 samples in batches of 10: 2 x 1240 x 7840 multiplications in the direct
    form, 1240 x 62 x 16 + 2 x 62 x 7840 + 62^2 x 392 in the dual one. Of 3,000 samples products are dearer than steps,
    and of 9,000 they are not formed at all.
    """
    sizes = np.array([62, 3000, 10**6])
    assert dual_pays(sizes, (784, 10), 20 * sizes, 2 * sizes, Rule(0.03)).tolist() == [True, False, False]
    small = np.array([62])
    assert dual_pays(small, (784, 128, 10), 20 * small, 2 * small, Rule(0.03, momentum=0.9)).all()
    assert not dual_pays(
        np.array([9000]), (10**6, 10), np.array([10**9]), np.array([10**8]), Rule(0.03)
    ).any()  # too many


@pytest.mark.parametrize("algorithm", ["flexcfl", "ifca", "wecfl"])
def test_whole_runs_find_the_same_groups_with_both_kernels(algorithm: str) -> None:
    settings: dict[str, Any] = {"partition": "permuted", "groups": 4, "rounds": 4, "epochs": 3, "lr": 0.1}
    runs = [shoal.run(algorithm, "digits", engine="serial", kernel=k, **settings) for k in ("torch", "native")]
    assert runs[0].groups == runs[1].groups
    assert runs[0].summary["best_accuracy"] == pytest.approx(runs[1].summary["best_accuracy"], abs=0.01)


def test_the_kernel_is_settled_before_the_run_and_kept(tmp_path: Any) -> None:
    shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "auto")
    assert 'kernel = "native"' in (tmp_path / "auto" / "config.toml").read_text()
    shoal.run("fedavg", model="cnn", rounds=1, epochs=0, engine="serial", out=tmp_path / "cnn")
    assert 'kernel = "torch"' in (tmp_path / "cnn" / "config.toml").read_text()
    with pytest.raises(BadInput, match="kernel=native is not possible: the model is not made of"):
        shoal.run("fedavg", model="cnn", kernel="native", rounds=1, engine="serial")
    with pytest.raises(BadInput, match="compile=on and kernel=native exclude each other"):
        shoal.run("fedavg", kernel="native", compile="on", rounds=1, engine="serial")


def test_sizes_of_networks_by_hand() -> None:
    """A convolution of 3 maps, 2 channels, 3 x 3 with bias and batch norm: 54 + 3 + 6 trainable numbers, 6
    statistics and a counter. Layers 4-5 with bias and 5-2 without: 25 + 10.
    """
    perceptron_of = Network((4, 5, 2), (True, False))
    assert (perceptron_of.trainable, perceptron_of.size) == (35, 35)
    conv = replace(perceptron_of, stages=(Stage(2, 3, 3, 1, True, (1e-5, 0.1)),))
    assert (conv.trainable, conv.size) == (35 + 63, 35 + 63 + 7)


def spoilt(name: str) -> dict[str, Any]:
    """Arguments of `Native.train` that fit a network of widths 4, 3, 2, with one of them spoilt."""
    good: dict[str, Any] = {
        "start_P": np.zeros(23, np.float32),
        "x": np.zeros((5, 4), np.float32),
        "y": np.zeros(5, np.int64),
        "order": np.arange(5),
        "cuts": np.array([0, 2, 5]),
        "rule": Rule(0.1, momentum=0.5),
        "velocity": np.zeros(23, np.float32),
    }
    locked = np.zeros(23, np.float32)
    locked.flags.writeable = False
    bad: dict[str, dict[str, Any]] = {
        "nothing": {},
        "short model": {"start_P": np.zeros(22, np.float32)},
        "long model": {"start_P": np.zeros(24, np.float32)},
        "stack of models": {"start_P": np.zeros((1, 23), np.float32)},
        "double model": {"start_P": np.zeros(23)},
        "model in a list": {"start_P": [0.0] * 23},
        "short velocity": {"velocity": np.zeros(1, np.float32)},
        "double velocity": {"velocity": np.zeros(23)},
        "scattered velocity": {"velocity": np.zeros(46, np.float32)[::2]},
        "locked velocity": {"velocity": locked},
        "velocity without momentum": {"rule": Rule(0.1)},
        "velocity in the dual form": {"dual": True},
        "few labels": {"y": np.zeros(4, np.int64)},
        "label below": {"y": np.array([0, 1, -1, 0, 1])},
        "label above": {"y": np.array([0, 1, 2, 0, 1])},
        "narrow samples": {"x": np.zeros((5, 3), np.float32)},
        "place below": {"order": np.array([0, 1, 2, 3, -1])},
        "place above": {"order": np.array([0, 1, 2, 3, 5])},
        "places of 32 bits": {"order": np.arange(5, dtype=np.int32)},
        "scattered places": {"order": np.arange(5).repeat(2)[::2]},
        "batch beyond the end": {"cuts": np.array([0, 2, 6])},
        "batch before the start": {"cuts": np.array([-1, 2, 5])},
        "batches backwards": {"cuts": np.array([0, 3, 2])},
        "no batches": {"cuts": np.zeros(0, np.int64)},
    }
    return good | bad[name]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("short model", r"the model: \(22,\) numbers of float32 came, \(23,\) of float32 are needed"),
        ("long model", r"the model: \(24,\)"),
        ("stack of models", r"the model: \(1, 23\)"),
        ("double model", "the model: .* float64 came"),
        ("model in a list", "the model: a list came"),
        ("short velocity", r"the velocity: \(1,\)"),
        ("double velocity", "the velocity: .* float64 came"),
        ("scattered velocity", "does not lie in one piece"),
        ("locked velocity", "read only"),
        ("velocity without momentum", "for training with momentum"),
        ("velocity in the dual form", "for perceptrons without a velocity"),
        ("few labels", r"the labels: \(4,\)"),
        ("label below", "a label outside 0 to 1"),
        ("label above", "a label outside 0 to 1"),
        ("narrow samples", "do not fit the model"),
        ("place below", "a place outside the 5 samples"),
        ("place above", "a place outside the 5 samples"),
        ("places of 32 bits", "the order of the samples: .* int32 came"),
        ("scattered places", "does not lie in one piece"),
        ("batch beyond the end", "within the 5 places"),
        ("batch before the start", "within the 5 places"),
        ("batches backwards", "within the 5 places"),
        ("no batches", "within the 5 places"),
    ],
)
def test_nothing_is_handed_to_c_that_does_not_fit(name: str, word: str) -> None:
    """Without the check most of these would read or write beyond an array; with it C is never called."""
    kernel = Native(Network((4, 3, 2), (True, True)), np.dtype(np.float32))
    kernel.train(**spoilt("nothing"))
    kernel.train_cohort = lambda *_: pytest.fail("C was called")
    with pytest.raises((BadInput, ValueError), match=word):
        kernel.train(**spoilt(name))


def test_an_image_of_which_nothing_is_left_does_not_fit() -> None:
    """3 x 3 kernels leave -1 x -1 of 1 x 1, whose product would be that of 1 x 1."""
    network = Network((2, 2), (True,), (Stage(1, 2, 3, 0, True),))
    assert network.shapes((1, 3, 3))[1] == 2
    assert network.shapes((1, 1, 1))[1] == 0
    assert network.shapes((2, 3, 3))[1] == 0
    assert network.shapes((9,))[1] == 0
