"""Growth functions of FedGSP by hand (eqs. 1 to 3)."""

from __future__ import annotations

import pytest

from shoal.algorithms.parts.growth import Growth, growth, in_proportion
from shoal.errors import BadInput


def test_the_paper_s_default() -> None:
    steps = {1: 10, 2: 20, 3: 30, 4: 30, 5: 40, 7: 40, 8: 50, 12: 50, 13: 60, 20: 60, 34: 80, 100: 100, 500: 130}
    assert {r: growth("log", r, 2, 10) for r in steps} == steps


def test_linear_and_exp_by_hand() -> None:
    # 3 floor(0.5 (r - 1) + 1) and 2 floor(1.5^(r - 1)): 1, 1.5, 2.25, 3.375, 5.06.
    assert [growth("linear", r, 0.5, 3) for r in range(1, 6)] == [3, 3, 6, 6, 9]
    assert [growth("exp", r, 0.5, 2) for r in range(1, 6)] == [2, 2, 4, 6, 10]


def test_whole_numbers_are_not_lost_to_rounding() -> None:
    assert 0.29 * 100 + 1 < 30  # in floating point
    assert growth("linear", 101, 0.29, 1) == 30
    assert [growth("exp", r, 2, 1) for r in range(1, 31)] == [3**i for i in range(30)]


@pytest.mark.parametrize("kind", ["linear", "log", "exp"])
def test_it_begins_at_beta_and_never_falls(kind: Growth) -> None:
    found = [growth(kind, r, 0.37, 4) for r in range(1, 200)]
    assert found[0] == 4
    assert found == sorted(found)
    assert all(f % 4 == 0 for f in found)
    assert {growth(kind, r, 0, 4) for r in (1, 7, 999)} == {4}


def test_exponential_growth_ends_somewhere() -> None:
    assert growth("exp", 100_000, 3.0, 1) == 2**64


@pytest.mark.parametrize(("kind", "r", "alpha", "beta"), [("log", 0, 1, 1), ("log", 1, -1, 1), ("log", 1, 1, 0)])
def test_what_cannot_be_is_one_sentence(kind: Growth, r: int, alpha: float, beta: int) -> None:
    with pytest.raises(BadInput, match="growth needs"):
        growth(kind, r, alpha, beta)


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(BadInput, match="growth function"):
        growth("fast", 1, 1, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["linear", "log", "exp"])
def test_a_growth_of_any_size_has_an_end(kind: Growth) -> None:
    # alpha (r - 1) + 1 is infinite as a float: f(r) stops at beta 2^64.
    assert [growth(kind, r, 1e308, 3) for r in (1, 2, 9)] == [3, 3 * 2**64, 3 * 2**64]
    assert growth("linear", 2**63, 1.5, 1) == int(1.5 * (2**63 - 1) + 1)  # below it nothing is cut


@pytest.mark.parametrize("alpha", [float("inf"), float("nan")])
def test_a_rate_is_a_number(alpha: float) -> None:
    with pytest.raises(BadInput, match="a number alpha from 0 on, not 1, 1, "):
        growth("linear", 1, alpha, 1)


def test_groups_in_proportion_to_the_paper_s_clients() -> None:
    # 10 K / 368 and 52 K / 368: 0.54, 2.72, 10, 54.3 and 2.83, 14.1, 52, 282.6, to the nearest, never 0.
    assert [in_proportion(10, k) for k in (1, 20, 100, 368, 2000)] == [1, 1, 3, 10, 54]
    assert [in_proportion(52, k) for k in (1, 20, 100, 368, 2000)] == [1, 3, 14, 52, 283]
