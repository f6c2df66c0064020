"""DetectShift: strictly more than tau, the memory renewed with a shift only, the nearest group found at home."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import nn

from shoal.data.on_demand import Produced
from shoal.layout import Layout
from shoal.measures import ShiftMode
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import DetectShift, Nearest
from shoal.types import Array, ClientData

LAYOUT = Layout.of(lambda: nn.Linear(2, 4), np.zeros((1, 2), np.float32))


def client(*counts: int) -> ClientData:
    """A client with so many samples of each class."""
    y = np.repeat(np.arange(4), counts)
    x = np.random.default_rng(0).normal(size=(len(y), 2)).astype(np.float32)
    return Produced(lambda split: (x, y))


def ask(task: DetectShift, data: ClientData, memory: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    answer, keep = task(Net(LAYOUT), None, data, memory, Key(0).of("ann"))
    return dict(answer), keep


def kept(*counts: int) -> dict[str, Any]:
    return {"histogram": np.array(counts), "other": 1}


@pytest.mark.parametrize("mode", ["aligned", "counts"])
def test_twenty_per_cent_is_no_shift_and_more_is(mode: ShiftMode) -> None:
    # (50, 50, 0, 0) -> (40, 40, 0, 0) is 5 = tau = 0.2/4 * 100; (39, 40, 0, 0) is 5.25.
    answer, keep = ask(DetectShift(mode), client(40, 40, 0, 0), memory := kept(50, 50, 0, 0))
    assert answer == {"shifted": 0, "choice": -1}
    assert keep is memory  # slow changes add up
    answer, keep = ask(DetectShift(mode), client(39, 40, 0, 0), memory)
    assert answer == {"shifted": 1, "choice": -1}
    assert keep["histogram"].tolist() == [39, 40, 0, 0]
    assert keep["other"] == 1
    assert memory["histogram"].tolist() == [50, 50, 0, 0]  # the old memory is as it was


def test_after_a_shift_nothing_has_shifted() -> None:
    _, keep = ask(DetectShift(), client(0, 0, 5, 5), kept(5, 5, 0, 0))
    assert ask(DetectShift(), client(0, 0, 5, 5), keep)[0]["shifted"] == 0
    # n_i is refreshed with the histogram (departure D20): of 10 samples tau is 0.5, 3 other ones of 4 classes are 0.75.
    assert ask(DetectShift(), client(0, 0, 5, 8), keep)[0]["shifted"] == 1


def test_only_aligned_sees_other_classes_with_equal_counts() -> None:
    assert ask(DetectShift("aligned"), client(0, 0, 5, 5), kept(5, 5, 0, 0))[0]["shifted"] == 1
    assert ask(DetectShift("counts"), client(0, 0, 5, 5), kept(5, 5, 0, 0))[0]["shifted"] == 0


def test_a_client_without_memory_keeps_the_present_histogram() -> None:
    answer, keep = ask(DetectShift(), client(1, 2, 3, 4), {})
    assert answer == {"shifted": 0, "choice": -1}
    assert keep["histogram"].tolist() == [1, 2, 3, 4]


def test_who_shifted_finds_its_group_as_a_newcomer_would() -> None:
    solver, data = SGD(steps=5), client(0, 0, 20, 5)
    sent_KP = np.concatenate([LAYOUT.init_many(1, Key(1)), directions()])
    memory = {"w0": sent_KP[0], "directions": sent_KP[1:], "histogram": np.array([20, 5, 0, 0])}
    answer, keep = ask(DetectShift("aligned", solver), data, memory)
    expected = Nearest(solver)(Net(LAYOUT), sent_KP, data, {}, Key(0).of("ann"))[0]["choice"]
    assert answer == {"shifted": 1, "choice": expected}
    assert keep["directions"].tobytes() == sent_KP[1:].tobytes()
    same = {**memory, "histogram": np.array([0, 0, 20, 5])}
    assert ask(DetectShift("aligned", solver), data, same)[0] == {"shifted": 0, "choice": -1}


def test_who_has_no_directions_says_so() -> None:
    answer, keep = ask(DetectShift("aligned", SGD(steps=5)), client(0, 0, 20, 5), kept(20, 5, 0, 0))
    assert answer == {"shifted": 1, "choice": -1}
    assert keep["histogram"].tolist() == [0, 0, 20, 5]


def directions() -> Array:
    return np.random.default_rng(3).normal(size=(4, LAYOUT.size)).astype(np.float32)
