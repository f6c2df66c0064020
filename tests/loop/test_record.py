"""The pieces of a record, by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from shoal.data import Federation
from shoal.data.federation import OnDemand
from shoal.loop.record import clients_to_test, count_peer_transfers_once, mean_loss, sample_places, share_lists
from shoal.loop.row import to_json


def federation(n: int) -> Federation:
    return Federation.from_arrays({f"c{i:05d}": (np.zeros((1, 1)), [0]) for i in range(n)}, test=0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ({1: np.array([0.5, math.nan])}, {"1": [0.5, None]}),
        ((math.inf, -math.inf, None), [None, None, None]),
        ("text", "text"),
    ],
)
def test_values_as_json_holds_them(value: Any, shown: Any) -> None:
    assert to_json(value) == shown
    assert type(to_json(value)) is type(shown)
    assert json.loads(json.dumps(to_json(value), allow_nan=False)) == shown


def test_what_clients_hand_on_is_sent_once() -> None:
    """Seven clients in two chains, 100 bytes a model: two go down from the server, five from client to client."""
    train = {"down": 7, "bytes_down": 700, "up": 7, "bytes_up": 700}
    count_peer_transfers_once(train, 5)
    assert train == {"down": 2, "bytes_down": 200, "up": 7, "bytes_up": 700}


def test_mean_loss_weighs_by_samples() -> None:
    assert mean_loss(np.array([1.0, 4.0]), np.array([3, 1])) == pytest.approx(7 / 4)
    assert math.isnan(mean_loss(np.array([1.0]), np.array([0])))


def test_the_clients_tested_are_the_same_in_every_round_and_for_every_method() -> None:
    fed = federation(30)
    some = clients_to_test(fed, 10, seed=1)
    assert some == clients_to_test(fed, 10, seed=1) == tuple(sorted(some))
    assert len(some) == 10 and some != clients_to_test(fed, 10, seed=2)
    assert clients_to_test(fed, 30, seed=1) == clients_to_test(fed, None, seed=1) == fed.ids
    assert set(clients_to_test(fed, 5, seed=1)) < set(some)


def test_clients_without_training_samples_are_not_tested() -> None:
    ids = tuple(f"c{i:05d}" for i in range(10))
    crowd = OnDemand("crowd", ids, np.array([1, 0] * 5), classes=2, make=federation(1).client, shape=(1,))
    assert clients_to_test(crowd, None, seed=1) == clients_to_test(crowd, 5, seed=1) == ids[::2]
    assert set(clients_to_test(crowd, 3, seed=1)) < set(ids[::2])


def test_who_is_recorded_stays_when_others_come() -> None:
    ids = tuple(f"c{i:02d}" for i in range(20))
    few = {ids[i] for i in sample_places(ids[:15], 5, seed=0)}
    more = {ids[i] for i in sample_places(ids, 5, seed=0)}
    assert len(few) == len(more) == 5
    assert more - few <= set(ids[15:])  # only newcomers take a place


def test_lists_are_shared_only_where_they_are_equal() -> None:
    first = {"clients": {"ids": ["a", "b"], "right": [1, 1], "total": [3, 3]}}
    second = {"clients": {"ids": ["a", "b"], "right": [1, 1], "total": [3, 4]}}
    share_lists(second, first)
    assert second["clients"]["ids"] is first["clients"]["ids"]
    assert second["clients"]["total"] == [3, 4]
    share_lists({}, first)
    share_lists(second, {})
    assert second["clients"]["ids"] == ["a", "b"]
