"""Groups of a chain by hand: what the clustering compares, which of them train, how alike they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.algorithms.parts import chains
from shoal.algorithms.parts.chains import deal_by_labels, likeness_of_groups, sample, transfers_between
from shoal.seeds import Key
from shoal.table import Table
from shoal.types import Answers, Array, Failure

V = Table().put(("ann", "bob", "cyd"), np.array([[3, 1], [0, 0], [2, 6]]))


@pytest.mark.parametrize(
    ("histograms", "rows"),
    [
        ("counts", [[3, 1], [0, 0], [2, 6]]),
        ("shares", [[0.75, 0.25], [0, 0], [0.25, 0.75]]),  # without samples: no share of anything
    ],
)
def test_groups_are_made_of_counts_or_of_shares(
    histograms: Any, rows: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Array] = []

    class Found:
        groups = (np.array([0, 2]), np.array([1]))

    def icg(V_KF: Array, f: int, rng: np.random.Generator) -> Found:
        seen.append(V_KF)
        return Found()

    monkeypatch.setattr(chains, "icg", icg)
    assert deal_by_labels(V.ids, V, 2, histograms, Key(0)) == [("ann", "cyd"), ("bob",)]
    np.testing.assert_allclose(seen[0], rows)


def test_likeness_counts_clients_whose_labels_are_known() -> None:
    # {ann} and {cyd} have 3 1 and 2 6; {bob} has no samples, {eve} is not known: neither is compared.
    found = likeness_of_groups([("ann",), ("bob",), ("cyd",), ("eve",)], [("ann",), ("cyd", "eve")], V)
    two = likeness_of_groups([("ann",), ("cyd",)], [], V)
    assert (found["groups"], found["clients"]) == (4, 3)
    assert (found["cpd"], found["z"]) == (two["cpd"], two["z"])
    alone = {"groups": 2, "alone": 2, "seated": 2, "clients": 0}
    assert likeness_of_groups([("ann",), ("bob",)], [], V) == alone  # one alone is like nobody


def test_who_failed_hands_nothing_on() -> None:
    # Of a b c only a and c answered: one hand-over. Nobody of d e answered: none, and not one less than none.
    got = Answers(("0",), np.zeros(1, int), {}, tuple(Failure(c, "ill") for c in "bde"))
    assert transfers_between([("a", "b", "c"), ("d", "e")], got) == 1


@pytest.mark.parametrize(("kappa", "taken"), [(0.0, 1), (0.25, 1), (0.35, 2), (1.0, 5)])
def test_a_share_of_the_groups_is_rounded_and_at_least_one(kappa: float, taken: int) -> None:
    groups = [(c,) for c in "abcde"]
    drawn = sample(groups, kappa, Key(3))
    assert len(drawn) == taken and drawn == sorted(drawn)
