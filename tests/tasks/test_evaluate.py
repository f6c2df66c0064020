"""Evaluate with votes: the mean of probabilities, not of logits or of opinions; in bulk as on one client."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import small_net
from torch import nn

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks import Evaluate
from shoal.tasks.evaluate import poll


def test_a_sure_minority_outvotes_an_unsure_majority() -> None:
    # Two models say class 1 with 0.55, one says class 0 with 0.99: (0.45 + 0.45 + 0.99) / 3 = 0.63 for class 0.
    logp = [np.log([[0.45, 0.55]]), np.log([[0.45, 0.55]]), np.log([[0.99, 0.01]])]
    np.testing.assert_allclose(np.exp(poll(logp)), [[0.63, 0.37]])
    assert poll(logp).argmax(1).tolist() == [0]


def test_one_voter_is_what_it_says() -> None:
    only = np.log([[0.3, 0.7]])
    assert poll([only]) is only


def test_a_vote_by_hand() -> None:
    # A linear model of bias alone: probabilities are softmax(bias), whatever the sample.
    layout = Layout.of(lambda: nn.Linear(1, 2), np.zeros((1, 1), np.float32))
    shares = np.array([[0.45, 0.55], [0.45, 0.55], [0.99, 0.01]])
    models_KP = np.zeros((3, 4), np.float32)
    models_KP[:, 2:] = np.log(shares)
    data = Federation.from_arrays({"a": (np.ones((4, 1)), [0, 0, 0, 1])}, test=0).client("a")
    answer, _ = Evaluate("train", vote=True)(Net(layout), models_KP, data, {}, Key(0))
    assert (answer["right"], answer["total"]) == (3, 4)
    np.testing.assert_allclose(answer["loss"], -(3 * np.log(0.63) + np.log(0.37)) / 4, rtol=1e-5)
    assert answer["predicted"].tolist() == [4, 0]
    assert answer["both"].tolist() == [3, 0]


def test_one_sample_is_enough() -> None:
    layout = Layout.of(lambda: nn.Linear(1, 2), np.zeros((1, 1), np.float32))
    model_P = np.array([0, 0, *np.log([0.25, 0.75])], np.float32)
    data = Federation.from_arrays({"a": (np.ones((1, 1)), [0])}, test=0, classes=2).client("a")
    answer, _ = Evaluate("train")(Net(layout), model_P, data, {}, Key(0))
    np.testing.assert_allclose(answer["loss"], -np.log(0.25), rtol=1e-5)
    assert (answer["right"], answer["total"], answer["true"].tolist()) == (0, 1, [1, 0])


@pytest.mark.parametrize("vote", [False, True])
def test_many_clients_at_once_get_the_answers_of_one(vote: bool, toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    models_KP, task, which_N = layout.init_many(3, Key(0)), Evaluate("test", vote=vote), np.arange(12) % 3
    engine = Engine(Serial(), layout)
    engine.set_federation(toy)
    got = engine.map(task, toy.ids, models_KP, None if vote else which_N, Key(0))
    for i, client in enumerate(toy.ids):
        sent = models_KP if vote else models_KP[which_N[i]]
        alone, _ = task(Net(layout), sent, toy.client(client), {}, Key(0))
        for name in ("right", "total", "true", "predicted", "both"):
            assert np.array_equal(got[name][i], alone[name])
        np.testing.assert_allclose(got["loss"][i], alone["loss"], rtol=1e-6)


def test_a_vote_sends_all_models_and_equal_voters_change_nothing(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    w_KP = layout.init_many(1, Key(0))
    engine = Engine(Serial(), layout)
    engine.set_federation(toy)
    one = engine.map(Evaluate(), toy.ids, w_KP, np.zeros(12, int), Key(0))
    assert engine.drain().diagnostics["evaluate"].down == 12
    many = engine.map(Evaluate(vote=True), toy.ids, np.repeat(w_KP, 4, 0), None, Key(0))
    assert engine.drain().diagnostics["evaluate"].down == 48
    assert np.array_equal(one["right"], many["right"])
    np.testing.assert_allclose(one["loss"], many["loss"], rtol=1e-6)


def test_predictions_of_an_ensemble_are_its_vote(toy: Federation) -> None:
    run = shoal.run("fedavg+", toy, small_net, rounds=3, members=3, engine=Serial(), lr=0.1)
    right = sum(int((run.predict(c, toy.client(c)("test")[0]) == toy.client(c)("test")[1]).sum()) for c in toy.ids)
    assert right == sum(run.history[-1]["clients"]["right"])


def test_testing_is_no_work_of_the_clients() -> None:
    assert Evaluate().work(samples=10, models=3) == (0, 0)
