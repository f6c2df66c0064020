"""Choose: the model of least loss, ties to the lowest, rubbish never; trains from it exactly as Train would."""

from __future__ import annotations

import numpy as np
from tests.conftest import small_net

from shoal.data.federation import Federation
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Choose, Losses, Train


def test_the_least_loss_wins(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    net, key, models_KP = Net(layout), Key(0), layout.init_many(4, Key(5))
    for client in toy.ids:
        data = toy.client(client)
        losses_K = Losses("train")(net, models_KP, data, {}, key)[0]["losses"]
        answer, memory = Choose()(net, models_KP, data, {}, key)
        assert answer == {"choice": int(losses_K.argmin())}
        assert memory == {}


def test_ties_go_to_the_lowest_and_what_is_not_finite_is_never_chosen(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    net, data, w_P = Net(layout), toy.client("c03"), layout.init(Key(0))
    assert Choose()(net, np.stack([w_P, w_P, w_P]), data, {}, Key(0))[0]["choice"] == 0
    broken_P = w_P * np.float32("nan")
    assert Choose()(net, np.stack([broken_P, w_P]), data, {}, Key(0))[0]["choice"] == 1


def test_the_split_decides(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    net, models_KP, key = Net(layout), layout.init_many(6, Key(1)), Key(0)
    choices = {
        split: [Choose(split)(net, models_KP, toy.client(c), {}, key)[0]["choice"] for c in toy.ids]
        for split in ("train", "test")
    }
    assert choices["train"] != choices["test"]


def test_it_trains_as_train_does(toy: Federation) -> None:
    layout = Layout.of(small_net, toy.sample())
    net, data, models_KP = Net(layout), toy.client("c05"), layout.init_many(3, Key(2))
    solver, key = SGD(momentum=0.9, momentum_memory="kept"), Key(1).at(4)("train").of("c05")
    velocity = {"velocity": np.ones(layout.trainable.stop, np.float32)}
    answer, memory = Choose(solver=solver)(net, models_KP, data, velocity, key)
    expected, kept = Train(solver)(net, models_KP[answer["choice"]], data, velocity, key)
    assert answer["update"].tobytes() == expected["update"].tobytes()
    assert (answer["count"], answer["loss"]) == (expected["count"], expected["loss"])
    assert memory["velocity"].tobytes() == kept["velocity"].tobytes()


def test_its_work_is_a_pass_through_every_model() -> None:
    assert Choose().work(samples=10, models=3) == (30, 0)
    assert Choose(solver=SGD(epochs=2)).work(samples=10, models=3) == (50, 20)
