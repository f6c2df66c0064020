"""Keep and Nearest: what a client keeps, and the direction its pre-training is most like, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net

from shoal.data.federation import Federation
from shoal.engines import Front, Serial
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Keep, Nearest

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
    answer, memory = Keep()(Net(layout), sent_KP, toy.client("c04"), {"velocity": 1}, key)
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
    _, kept = Keep()(Net(layout), sent_KP, toy.client("c04"), {}, key)
    answer, memory = Nearest(SOLVER)(Net(layout), None, toy.client("c04"), kept, key)
    assert answer == {"choice": 2}
    assert memory["directions"].tobytes() == sent_KP[1:].tobytes()


def test_an_engine_holds_the_vectors_once_and_counts_w0_apart(toy: Federation, layout: Layout) -> None:
    sent_KP, _ = vectors(toy, layout)
    engine = Front(Serial(), layout)
    engine.use(toy)
    got = engine.map(Nearest(SOLVER), toy.ids, sent_KP, None, Key(3))
    assert len(got) == 12
    assert got.which_N.tolist() == got["choice"].tolist()
    assert len(engine.library.rows_VP) == 4
    count = engine.take().counts["nearest"]
    assert (count.down, count.up, count.uncounted) == (48, 0, 12)
