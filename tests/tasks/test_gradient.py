"""Gradient: the closed form of softmax regression, finite differences of a net with batch norm, no mark on memory."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import small_net
from torch import nn

from shoal.data.federation import Federation
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import gradient
from shoal.tasks import Gradient, Losses


def test_the_closed_form_of_softmax_regression(toy: Federation) -> None:
    # grad_W = (p - onehot)' x / n, grad_b = the mean of p - onehot; torch stores W as classes x inputs.
    layout = Layout.of(lambda: nn.Linear(6, 3), toy.sample(), "float64")
    w_P = layout.init(Key(4))
    x, y = toy.client("c08")("train")
    logits = x.astype(np.float64) @ w_P[:18].reshape(3, 6).T + w_P[18:]
    p = np.exp(logits - logits.max(1, keepdims=True))
    residual = p / p.sum(1, keepdims=True) - np.eye(3)[y]
    expected_P = np.concatenate([(residual.T @ x / len(y)).ravel(), residual.mean(0)])
    answer, memory = Gradient()(Net(layout), w_P, toy.client("c08"), {"kept": 1}, Key(0))
    np.testing.assert_allclose(answer["gradient"], expected_P, rtol=1e-6, atol=1e-9)
    assert answer["count"] == len(y)
    assert memory == {"kept": 1}


def test_finite_differences_of_a_net_with_batch_norm_and_dropout(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample(), "float64")
    net, data, w_P = Net(layout), toy.client("c09"), layout.init(Key(1))
    rng, step = np.random.default_rng(0), 1e-6
    got_P = Gradient()(net, w_P, data, {}, Key(0))[0]["gradient"]
    assert not got_P[layout.trainable.stop :].any()  # statistics and counters have none
    for i in rng.choice(layout.trainable.stop, 25, replace=False):
        there_2P = np.stack([w_P, w_P])
        there_2P[:, i] += [step, -step]
        high, low = Losses("train")(net, there_2P, data, {}, Key(0))[0]["losses"]
        np.testing.assert_allclose(got_P[i], (high - low) / (2 * step), rtol=1e-4, atol=1e-6)


def test_it_does_not_depend_on_what_the_net_did_before(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    net, data, w_P = Net(layout), toy.client("c02"), layout.init(Key(1))
    first = Gradient()(net, w_P, data, {}, Key(0))[0]["gradient"]
    Gradient()(net, layout.init(Key(2)), toy.client("c11"), {}, Key(0))
    assert Gradient()(net, w_P, data, {}, Key(9))[0]["gradient"].tobytes() == first.tobytes()


def test_mini_batches_by_hand(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample(), "float64")
    net, w_P = Net(layout), layout.init(Key(1))
    x, y = toy.client("c09")("train")
    parts = [slice(i, i + 8) for i in range(0, len(y), 8)]
    assert len(y) % 8  # the last batch is short, and weighs less
    got = Gradient(batch=8)(net, w_P, toy.client("c09"), {}, Key(0))[0]
    g = [gradient(net, w_P, x[p], y[p]) for p in parts]
    share, length = [len(y[p]) / len(y) for p in parts], [np.linalg.norm(row) for row in g]
    whole = Gradient()(net, w_P, toy.client("c09"), {}, Key(0))[0]["gradient"]
    np.testing.assert_allclose(got["gradient"], whole, rtol=1e-9, atol=1e-12)
    assert got["norm"] == pytest.approx(np.dot(share, length))
    assert got["square"] == pytest.approx(np.dot(share, np.square(length)))
    # Equation 8: the variance is E|g|^2 - |grad|^2.
    mean = gradient(net, w_P, x, y)
    spread = sum(s * np.square(row - mean).sum() for s, row in zip(share, g, strict=True))
    assert got["square"] - np.square(mean).sum() == pytest.approx(spread)
