"""Keep and Nearest: what a client keeps, and the direction its pre-training is most like, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net

from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Nearest, StoreDirections, TrainInStages

SOLVER = SGD(steps=4)


@pytest.fixture
def layout(toy: Federation) -> Layout:
    return Layout.of(small_net, toy.sample())


def vectors(toy: Federation, layout: Layout, client: str = "c04") -> tuple[Any, Any]:
    """w_0 with three directions: away from, across and along what the client learns; and what it learns."""
    w0_P, key = layout.init(Key(0)), Key(3).of(client)
    update_P = SOLVER(Net(layout), w0_P, *toy.client(client)("train"), key).update_P
    across_P = np.zeros_like(update_P)
    return np.stack([w0_P, -update_P, across_P, 2 * update_P]), key


def test_keep_remembers_vectors_and_histogram_and_tells_nothing(toy: Federation, layout: Layout) -> None:
    sent_KP, key = vectors(toy, layout)
    answer, memory = StoreDirections()(Net(layout), sent_KP, toy.client("c04"), {"velocity": 1}, key)
    assert answer == {}
    assert memory["w0"].tobytes() == sent_KP[0].tobytes()
    assert memory["directions"].tobytes() == sent_KP[1:].tobytes()
    assert memory["histogram"].tolist() == np.bincount(toy.client("c04")("train")[1], minlength=3).tolist()
    assert memory["velocity"] == 1


def test_the_nearest_direction(toy: Federation, layout: Layout) -> None:
    sent_KP, key = vectors(toy, layout)
    answer, memory = Nearest(SOLVER)(Net(layout), sent_KP, toy.client("c04"), {}, key)
    assert answer == {"choice": 2}  # lengths do not count
    assert sorted(memory) == ["directions", "histogram", "w0"]
    # Without the direction along it, (1 - cos)/2 = 1/2 of the zero vector beats 1 of the opposite one.
    assert Nearest(SOLVER)(Net(layout), sent_KP[:3], toy.client("c04"), {}, key)[0] == {"choice": 1}


def test_statistics_have_no_say(toy: Federation, layout: Layout) -> None:
    sent_KP, key = vectors(toy, layout)
    spoilt_KP = sent_KP.copy()
    spoilt_KP[1:, layout.trainable.stop :] = 1e6 * np.arange(3)[:, None]
    assert Nearest(SOLVER)(Net(layout), spoilt_KP, toy.client("c04"), {}, key)[0] == {"choice": 2}


def test_without_models_it_uses_what_it_keeps(toy: Federation, layout: Layout) -> None:
    sent_KP, key = vectors(toy, layout)
    _, kept = StoreDirections()(Net(layout), sent_KP, toy.client("c04"), {}, key)
    answer, memory = Nearest(SOLVER)(Net(layout), None, toy.client("c04"), kept, key)
    assert answer == {"choice": 2}
    assert memory["directions"].tobytes() == sent_KP[1:].tobytes()


def test_an_engine_holds_the_vectors_once_and_counts_w0_apart(toy: Federation, layout: Layout) -> None:
    sent_KP, _ = vectors(toy, layout)
    engine = Engine(Serial(), layout)
    engine.set_federation(toy)
    got = engine.map(Nearest(SOLVER), toy.ids, sent_KP, None, Key(3))
    assert len(got) == 12
    assert got.which_N.tolist() == got["choice"].tolist()
    assert len(engine.snapshot()[1]) == 4
    count = engine.drain().counts["nearest"]
    assert (count.down, count.up, count.uncounted) == (48, 0, 12)


def test_going_on_is_the_one_solver_after_the_other(toy: Federation, layout: Layout) -> None:
    sent_KP, key = vectors(toy, layout)
    first, rest, (x, y) = SGD(epochs=1), SGD(epochs=2, lr=0.01), toy.client("c04")("train")
    early = first(Net(layout), sent_KP[0], x, y, key)
    later = rest(Net(layout), sent_KP[0] + early.update_P, x, y, key("rest"))
    answer, memory = TrainInStages(first, rest)(Net(layout), sent_KP[0], toy.client("c04"), {"velocity": 1}, key)
    np.testing.assert_array_equal(answer["early"], early.update_P)
    np.testing.assert_array_equal(answer["update"], early.update_P + later.update_P)
    assert answer["count"] == len(y)
    assert answer["loss"] == pytest.approx((early.loss + 2 * later.loss) / 3)
    assert memory == {"velocity": 1}
    assert TrainInStages(first, rest).work(10, 1) == (30, 30)
    # A newcomer does the same from the w_0 it is sent, and tells which direction the early part is nearest to.
    sent_KP[1:] = [-early.update_P, early.update_P, later.update_P]
    joined, kept = Nearest(first, rest)(Net(layout), sent_KP, toy.client("c04"), {}, key)
    assert sorted(joined) == ["choice", "count", "loss", "update"]
    assert joined["choice"] == 1
    np.testing.assert_array_equal(joined["update"], answer["update"])
    assert sorted(kept) == ["directions", "histogram", "w0"]
    assert Nearest(first, rest).work(10, 4) == (30, 30)


def test_nothing_to_go_on_with_is_pre_training_alone(toy: Federation, layout: Layout) -> None:
    sent_KP, key = vectors(toy, layout)
    answer, _ = TrainInStages(SGD(), SGD(epochs=0))(Net(layout), sent_KP[0], toy.client("c04"), {}, key)
    np.testing.assert_array_equal(answer["update"], answer["early"])
    assert answer["loss"] == SGD()(Net(layout), sent_KP[0], *toy.client("c04")("train"), key).loss
