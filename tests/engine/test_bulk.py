"""Many clients at once, against sums by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.tiny import clients_of, engine_of

from shoal.backends.backend import Outcome
from shoal.data.federation import Federation
from shoal.engine.bulk import rows_of
from shoal.errors import ShoalError
from shoal.seeds import Key
from shoal.tasks import Evaluate
from shoal.types import Array, Failure

# Scores (w0 x, w1 x) of x = 1: model 0 says class 1 with probability e / (1 + e) = 0.73, the others class 0 with that.
# Together they give class 0 (0.27 + 0.73 + 0.73) / 3 = 0.58.
MODELS_KP = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])


def right(samples: dict[str, tuple[float, int, int]], which_N: Array) -> list[int]:
    engine = engine_of(clients_of(samples))
    return list(engine.map(Evaluate("train"), tuple(samples), MODELS_KP, which_N, Key(0).at(1))["right"])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_models_vote_also_on_a_single_sample(count: int) -> None:
    # Class 0 wins: right for ann and wrong for bob, who hold so many samples.
    assert right({"ann": (1.0, 0, count), "bob": (1.0, 1, count)}, np.array([-1, -1])) == [count, 0]


def test_each_by_its_own_model() -> None:
    assert right({"ann": (1.0, 0, 2), "bob": (1.0, 1, 3), "cyd": (1.0, 1, 1)}, np.array([1, 0, -1])) == [2, 3, 0]


def test_a_slice_that_fails_is_no_answer() -> None:
    assert rows_of(Outcome({"rows": [[1.0]]})).tolist() == [[1.0]]
    with pytest.raises(ShoalError, match=r"^evaluation failed: no disk$"):
        rows_of(Outcome(None, {}, (Failure("2 samples", "failed: no disk"),)))


def test_who_has_no_samples_of_the_split_has_none_right_and_none_in_all() -> None:
    x_B, none_B = np.ones((2, 1), np.float32), np.ones((0, 1), np.float32)
    arrays = {
        "ann": (x_B, np.zeros(2, int), x_B, np.zeros(2, int)),
        "bob": (x_B, np.zeros(2, int), none_B, np.zeros(0, int)),
    }
    engine = engine_of(Federation.from_arrays(arrays, classes=2))
    for which_N in (np.array([1, 0]), np.array([1, -1])):
        got = engine.map(Evaluate("test"), ("ann", "bob"), MODELS_KP, which_N, Key(0).at(1))
        assert (got["right"].tolist(), got["total"].tolist()) == ([2, 0], [2, 0])
