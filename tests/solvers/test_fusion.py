"""Feature fusion by hand: operators, three steps of two tiny clients, smoothing, and what travels."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import torch
from tests.conftest import small_net
from torch import nn

from shoal.algorithms.fedavg import State
from shoal.algorithms.fedfusion import FedFusion
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.models import factory
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD, Fused
from shoal.solvers.fusion import Convolve, Mix


def scalar() -> nn.Module:
    """One weight e for the feature, two for the classes."""
    return nn.Sequential(OrderedDict(features=nn.Linear(1, 1, bias=False), head=nn.Linear(1, 2, bias=False)))


def test_operators_by_hand() -> None:
    mine = torch.tensor([[[[1.0, 2.0]], [[3.0, 4.0]]]])  # one sample, two channels, 1 x 2
    theirs = torch.tensor([[[[10.0, 20.0]], [[30.0, 40.0]]]])
    multi = Mix(2)
    assert multi(mine, theirs).tolist() == mine.tolist()  # gamma starts at 0
    multi.gamma.data = torch.tensor([0.5, 1.0])
    assert multi(mine, theirs).tolist() == [[[[5.5, 11.0]], [[30.0, 40.0]]]]
    assert Mix(1, 0.1)(mine, theirs).flatten().tolist() == pytest.approx([1.9, 3.8, 5.7, 7.6])
    conv = Convolve(2, maps=True)
    # First output channel: mine[0] + 2 theirs[1] + 1; second: 3 mine[1] - theirs[0]. Local channels come first.
    conv.mix.weight.data = torch.tensor([[1.0, 0, 0, 2], [0, 3, -1, 0]])[:, :, None, None]
    conv.mix.bias = nn.Parameter(torch.tensor([1.0, 0.0]))
    assert conv(mine, theirs).tolist() == [[[[62.0, 83.0]], [[-1.0, -8.0]]]]


def test_two_clients_by_hand() -> None:
    # e = 1, gamma = 0, h = (0, 0); one sample x = 1, lr 1, three epochs. The extractor received keeps e = 1.
    # Client a, class 0. Step 1: z = 1, scores 0, gradient of scores (-1/2, 1/2): h = (1/2, -1/2); dz = h . ds = 0.
    # Step 2: p0 = 1/(1 + e^-1), q = 1 - p0, ds = (-q, q), dz = -q: e = 1 + q, h = +-(1/2 + q);
    #         d gamma = dz (theirs - mine) = 0, as both still are 1.
    # Step 3: z = 1 + q, scores +-(1/2 + q)(1 + q), r = 1 - p0 = 1/(1 + exp((1 + 2q)(1 + q))), dz = -r (1 + 2q):
    #         e = 1 + q + r (1 + 2q); d gamma = dz (1 - (1 + q)) = r q (1 + 2q), so gamma = -r q (1 + 2q);
    #         h = +-(1/2 + q + r (1 + q)).
    # Client b, class 1: the same with h of the other sign. The mean has h = 0, and a tenth of gamma after smoothing.
    data = {c: (np.array([[1.0]]), np.array([k])) for k, c in enumerate("ab")}
    federation = Federation.from_arrays({c: (*d, *d) for c, d in data.items()}, classes=2)
    q = 1 - 1 / (1 + np.exp(-1))
    r = 1 / (1 + np.exp((1 + 2 * q) * (1 + q)))
    e, gamma, h = 1 + q + r * (1 + 2 * q), -r * q * (1 + 2 * q), 0.5 + q + r * (1 + q)
    method = FedFusion(operator="single", solver=SGD(lr=1.0, epochs=3))
    layout = Layout.of(method.wrap(scalar, np.zeros((1, 1))), np.zeros((1, 1)), "float64")
    assert [p.name for p in layout.parts] == ["local.weight", "fusion.gamma", "head.weight"]
    engine = Engine(Serial(), layout)
    engine.set_federation(federation)
    start = np.array([[1.0, 0, 0, 0]])
    alone = method.solver(Net(layout), start[0], *data["a"], Key(0))
    np.testing.assert_allclose(start[0] + alone.update_P, [e, gamma, h, -h], rtol=1e-12)
    state, record = method.step(State(start), engine, Key(0).at(1))
    np.testing.assert_allclose(state.w_KP, [[e, 0.1 * gamma, 0, 0]], atol=1e-12)
    assert record.measures["gamma"] == pytest.approx(0.1 * gamma)


@pytest.mark.parametrize("operator", ["conv", "multi", "single"])
def test_outside_training_both_extractors_are_the_model(operator: str) -> None:
    fused = Fused.of(scalar, np.zeros((1, 1)), operator)  # type: ignore[arg-type]
    module = fused().eval()
    x = torch.tensor([[3.0], [-1.0]])
    mine = module.local(x)  # type: ignore[operator]
    want = module.head(module.fusion(mine, mine))  # type: ignore[operator]
    assert torch.equal(module(x), want)
    if operator != "conv":  # mixing equal things changes nothing, whatever gamma is
        module.fusion.gamma.data.fill_(0.7)  # type: ignore[union-attr, operator]
        torch.testing.assert_close(module(x), module.head(mine))  # type: ignore[operator]


def test_the_frozen_extractor_does_not_travel_and_takes_no_gradient() -> None:
    layout = Layout.of(Fused.of(small_net, np.zeros((1, 6)), "multi"), np.zeros((1, 6)))
    plain = Layout.of(small_net, np.zeros((1, 6)))
    assert layout.size == plain.size + 8  # a gamma per feature, and nothing else
    net = Net(layout)
    net.load(layout.init(Key(0)))
    net.module.train()
    (frozen,) = net.module.received  # type: ignore[misc]
    assert not frozen.training
    assert not any(p.requires_grad for p in frozen.parameters())
    before = [p.clone() for p in frozen.parameters()]
    net.params.add_(1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, frozen.parameters(), strict=True))


def test_a_used_net_gives_the_bits_of_a_fresh_one(toy: Federation) -> None:
    layout = Layout.of(Fused.of(small_net, toy.sample(), "conv"), toy.sample())
    x, y = toy.client("c09")("train")
    solver, used = SGD(epochs=2), Net(layout)
    solver(used, layout.init(Key(7)), x, y, Key(3))
    start = layout.init(Key(1))
    again, fresh = (solver(net, start, x, y, Key(0)).update_P for net in (used, Net(layout)))
    assert again.tobytes() == fresh.tobytes()


def test_maps_of_a_convolution_are_fused_by_a_convolution() -> None:
    leaf = factory("fedgsp-leaf-small", (1, 28, 28), 62)
    module = Fused.of(leaf, np.zeros((1, 1, 28, 28), np.float32), "conv")()
    assert sum(p.numel() for p in module.parameters()) == 222_078 + 2 * 32 * 32 + 32
    assert module(torch.zeros(2, 1, 28, 28)).shape == (2, 62)
    begin = dict(leaf().named_parameters())
    assert set(begin) == {n.replace("local.", "features.") for n, _ in module.named_parameters() if "fusion" not in n}


def test_the_rest_of_the_model_begins_as_without_fusion() -> None:
    plain = Layout.of(small_net, np.zeros((1, 6)))
    fused = Layout.of(Fused.of(small_net, np.zeros((1, 6)), "conv"), np.zeros((1, 6)))
    mine, theirs = plain.named(plain.init(Key(3))), fused.named(fused.init(Key(3)))
    assert torch.equal(mine["features.0.weight"], theirs["local.0.weight"])
    assert torch.equal(mine["head.1.weight"], theirs["head.1.weight"])


def test_sequences_are_not_fused() -> None:
    def states() -> nn.Module:
        return nn.Sequential(OrderedDict(features=nn.Linear(3, 4), head=nn.Sequential(nn.Flatten(), nn.Linear(8, 2))))

    with pytest.raises(BadInput, match="channels x height x width"):
        Fused.of(states, np.zeros((1, 2, 3), np.float32), "conv")
