"""When the theory's figures are measured, and whom they are measured on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, engine_of

from shoal.algorithms.parts.diagnostics import Fitted, diagnose, places
from shoal.backends import Serial
from shoal.engine import Engine
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.types import Answers

TWO = clients_of({"ann": (1.0, 0, 2), "bob": (3.0, 0, 2)})
# At (0, 0) the gradient of x of class 0 is x (-1/2, 1/2): ann's is g, bob's 3 g. Their mean by weights 1 and 1 is 2 g,
# from which both are g away: B = 1/2. By weights 3 and 1 it is 1.5 g, and bob is 1.5 g away: B = 1.
HERE = np.zeros((2, 2))


def fitted(*weights: float) -> Fitted:
    return Fitted(Answers(("ann", "bob"), np.zeros(2, int)), HERE, np.array(weights), np.zeros(2, int), HERE[:1])


def measured(everything: bool, every: int, round: int, *weights: float) -> Any:
    at = fitted(*weights or (1.0, 1.0))
    return diagnose(at, everything, every, SGD(lr=1.0, batch=2), engine_of(TWO), Key(0).at(round))


@pytest.mark.parametrize(("every", "rounds"), [(0, []), (1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3])])
def test_clusterability_is_measured_every_so_many_rounds(every: int, rounds: list[int]) -> None:
    assert [r for r in (1, 2, 3, 4) if measured(False, every, r)] == rounds


def test_clusterability_by_hand() -> None:
    assert measured(False, 1, 1) == pytest.approx({"B_max": 0.5, "B_mean": 0.5})
    assert measured(False, 1, 1, 3.0, 1.0) == pytest.approx({"B_max": 1.0, "B_mean": 1.0})


def test_the_figures_of_theorem_6_8_by_hand() -> None:
    # The centre is (0, 0), too: both losses are log 2. |g|^2 = 1/2, bob's is 9/2: their mean is 2.5. One
    # batch is all samples: no noise.
    found = measured(True, 0, 1)
    assert found["R"] == pytest.approx(np.log(2))
    assert (found["B_max"], found["gradient_square"], found["sigma"]) == pytest.approx((0.5, 2.5, 0.0))
    assert found["U"] == pytest.approx(3 / np.sqrt(2))  # the longest gradient, bob's


def test_places_of_some_among_all() -> None:
    everybody, some = (Answers(names, np.zeros(len(names), int)) for names in (("a", "b", "c"), ("c", "a")))
    assert places(everybody, some).tolist() == [2, 0]


class Patient(Engine):
    """Notes how many answers each question needs."""

    def map(
        self, task: Any, cohort: Any, models_KP: Any, which_N: Any, key: Any, min_answers: int | None = None
    ) -> Answers:
        needed.append(min_answers)
        return super().map(task, cohort, models_KP, which_N, key, min_answers)


needed: list[int | None] = []


def test_no_measure_stops_a_round() -> None:
    engine = Patient(Serial(), engine_of(TWO).layout)
    engine.set_federation(TWO)
    needed.clear()
    diagnose(fitted(1.0, 1.0), True, 0, SGD(lr=1.0, batch=2), engine, Key(0).at(1))
    assert needed == [0, 0, 0]  # gradients at both places, and losses


def test_clients_that_take_no_step_count_as_if_they_took_one() -> None:
    # Both are where the centre is: any step is one too many, of however many.
    found = diagnose(fitted(1.0, 1.0), True, 0, SGD(lr=1.0, batch=2, epochs=0), engine_of(TWO), Key(0).at(1))
    assert found["lr_clustering"] == 0.0
