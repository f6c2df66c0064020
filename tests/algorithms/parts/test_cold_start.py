"""The groups of FedGroup's cold start: planted directions by both measures, no empty group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.parts.cold_start import GroupMeasure, group_labels
from shoal.errors import BadInput
from shoal.measures import client_cold_start
from shoal.types import Array


def planted(n: int, k: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    rows = (rng.normal(size=(k, 400))[truth] + 0.4 * rng.normal(size=(n, 400))) * rng.uniform(0.2, 5, size=(n, 1))
    return rows.astype(np.float32), truth


@pytest.mark.parametrize("measure", ["edc", "madc"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_groups(measure: GroupMeasure, seed: int) -> None:
    updates, truth = planted(40, 4, seed)
    assert group_labels(updates, 4, measure, np.random.default_rng(seed)).tolist() == truth.tolist()
    # Every clustered client would be assigned to its own group as a newcomer too.
    directions = np.stack([updates[truth == k].mean(0) for k in range(4)])
    assert [client_cold_start(directions, u)[0] for u in updates] == truth.tolist()


def test_fixed_centres_number_the_groups() -> None:
    updates, truth = planted(20, 3, seed=5)
    got = group_labels(updates, 3, centres=[5, 3, 1])  # of true groups 2, 0, 1
    assert got.tolist() == np.array([1, 2, 0])[truth].tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 10), st.integers(0, 10**6), st.sampled_from(["edc", "madc"]), st.data())
def test_never_an_empty_group(n: int, seed: int, measure: GroupMeasure, data: st.DataObject) -> None:
    rows = np.random.default_rng(seed).integers(-1, 2, size=(n, 2)).astype(float)  # few distinct, zeros too
    m = data.draw(st.integers(1, n))
    labels = group_labels(rows, m, measure, np.random.default_rng(seed))
    assert sorted(set(labels.tolist())) == list(range(m))
    if measure == "edc":
        fixed = group_labels(rows, m, centres=list(range(m)))
        assert sorted(set(fixed.tolist())) == list(range(m))


def test_identical_clients_and_one_client() -> None:
    assert sorted(set(group_labels(np.ones((4, 3)), 3, rng=np.random.default_rng(0)).tolist())) == [0, 1, 2]
    assert group_labels(np.ones((1, 3)), 1, rng=np.random.default_rng(0)).tolist() == [0]


def test_bad_input() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(BadInput, match="3 clients took part in the cold start; they cannot form 4 groups"):
        group_labels(np.eye(3), 4, rng=rng)
    with pytest.raises(BadInput, match="at least 3 of them"):
        group_labels(np.eye(2), 2, "madc")
    with pytest.raises(BadInput, match="2 different clients"):
        group_labels(np.eye(3), 2, centres=[1, 1])
    with pytest.raises(BadInput, match="random numbers or initial centres"):
        group_labels(np.eye(3), 2)
    with pytest.raises(BadInput, match="did you mean 'edc'"):
        group_labels(np.eye(3), 2, "emdc", rng)  # type: ignore[arg-type]


def test_k_means_is_that_of_the_authors_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten starts, at most twenty iterations each; from given centres one start of as many iterations."""
    asked: list[tuple[int, ...]] = []

    class Found:
        labels_N = np.array([0, 1])

    def kmeans(points: Array, m: int, weights: Array, rng: np.random.Generator, starts: int, iterations: int) -> Found:
        asked.append((starts, iterations))
        return Found()

    def kmeans_from(points: Array, centres: Array, weights: Array, iterations: int) -> Found:
        asked.append((iterations,))
        return Found()

    monkeypatch.setattr("shoal.algorithms.parts.cold_start.kmeans", kmeans)
    monkeypatch.setattr("shoal.algorithms.parts.cold_start.kmeans_from", kmeans_from)
    rows = np.eye(2)
    group_labels(rows, 2, rng=np.random.default_rng(0))
    group_labels(rows, 2, centres=[0, 1])
    assert asked == [(10, 20), (20,)]
