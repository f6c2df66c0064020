"""The groups of FeSEM and WeCFL, the first ones and those of a later round, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.algorithms.parts.client_space import Points
from shoal.algorithms.parts.em_steps import Start, first_groups, m_step_alone, next_groups
from shoal.seeds import Key
from shoal.types import Answers, Array


def clients_at(rows_ND: Array, lambda_N: list[float], which_N: list[int]) -> Points:
    """Clients that stand where they went, from a model at 0."""
    names = tuple(f"{i}" for i in range(len(rows_ND)))
    return Points(Answers(names, np.array(which_N), {}), rows_ND, np.array(lambda_N), rows_ND, rows_ND)


@pytest.mark.parametrize(("start", "groups"), [("directions", [0, 1, 0, 1]), ("kmeans", [0, 0, 1, 0])])
def test_a_client_that_went_far_captures_no_group_of_its_own(start: Start, groups: list[int]) -> None:
    """Two directions, and one client that went ten times as far as its like: by length it would be a group alone."""
    learnt_ND = np.array([[1.0, 0.1], [0.1, 1.0], [10.0, 1.0], [0.0, 1.0]])
    at = clients_at(learnt_ND, [0.25] * 4, [0] * 4)
    found, measures, events = first_groups(at, "euclidean", start, 2, "cosine", Key(0))
    assert (measures["F"], events) == (found.F, ())
    assert found.labels_N.tolist() == groups
    means = [learnt_ND[found.labels_N == k].mean(0) for k in (0, 1)]
    np.testing.assert_allclose(found.centres_KD, means)


def test_first_groups_by_direction_count_clients_alike_and_their_centres_do_not() -> None:
    # Directions (1, 0), (1, 0), (0, 1). Solutions of the first group: 2 and 6 with weights 3 and 1, mean 3; F is
    # (3 * 1 + 1 * 9 + 0) / 5. By cosine centres have length one and nobody is away from its centre.
    at = clients_at(np.array([[2.0, 0.0], [6.0, 0.0], [0.0, 5.0]]), [0.6, 0.2, 0.2], [0, 0, 0])
    found, measures, _ = first_groups(at, "euclidean", "directions", 2, "cosine", Key(0))
    assert found.labels_N.tolist() == [0, 0, 1]
    np.testing.assert_allclose(found.centres_KD, [[3.0, 0.0], [0.0, 5.0]])
    assert measures["F"] == pytest.approx(12 / 5)
    assert measures["within"] == pytest.approx(8.0)  # of 2 and 6 around 4, all alike
    ones = Points(at.got, at.omega_NP, at.lambda_N, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), at.learnt_ND)
    found, measures, _ = first_groups(ones, "cosine", "directions", 2, "cosine", Key(0))
    np.testing.assert_allclose(found.centres_KD, [[1.0, 0.0], [0.0, 1.0]])
    assert measures["F"] == pytest.approx(0.0)


def test_weights_decide_about_first_groups_by_solutions_and_not_by_directions() -> None:
    # Three clients in a row, the first nearly without weight. All alike: {0}, {4, 6} costs 2, {0, 4}, {6} costs 8. By
    # weights 1/200, 1, 1 the latter costs about 16/200. So do directions at 0, 40 and 60 degrees.
    light, angles_N = [1 / 401, 200 / 401, 200 / 401], np.radians([0.0, 40.0, 60.0])
    turned = clients_at(np.stack([np.cos(angles_N), np.sin(angles_N)], 1), light, [0, 0, 0])
    straight = clients_at(LINE, light, [0, 0, 0])
    assert first_groups(straight, "euclidean", "kmeans", 2, "cosine", Key(0))[0].labels_N.tolist() == [0, 0, 1]
    assert first_groups(turned, "euclidean", "directions", 2, "cosine", Key(0))[0].labels_N.tolist() == [0, 1, 1]


LINE = np.array([[0.0], [4.0], [6.0]])


def test_a_round_goes_from_the_present_centres() -> None:
    # Clients at 0, 4 and 6 with weights 1/2, 1/4, 1/4 trained from the centres 1, 1 and 9: F before is
    # 1/2 * 1 + 1/4 * 9 + 1/4 * 9 = 5. E step: 4 is 3 from 1, 5 from 9; 6 is 5 from 1, 3 from 9. M step: (2 * 0 + 4) / 3
    # and 6. F: (4/3)^2 / 2 + (8/3)^2 / 4 = 8/9 + 16/9. The next E step: 4 is 8/3 from 4/3, 2 from 6; then the centres
    # are 0 and 5, F = 1/4 + 1/4.
    at, centres_KD = clients_at(LINE, [0.5, 0.25, 0.25], [0, 0, 1]), np.array([[1.0], [9.0]])
    found, measures, events = next_groups(at, "euclidean", centres_KD, 1, None)
    assert (found.labels_N.tolist(), events) == ([0, 0, 1], ())
    np.testing.assert_allclose(found.centres_KD, [[4 / 3], [6.0]])
    assert measures["F_before"] == pytest.approx(5.0)
    assert measures["F"] == pytest.approx(24 / 9)
    assert (measures["within"], measures["spread"]) == (pytest.approx(8.0), [pytest.approx(4.0), 0.0])
    found, measures, _ = next_groups(at, "euclidean", centres_KD, 2, None)
    assert found.labels_N.tolist() == [0, 1, 1]
    np.testing.assert_allclose(found.centres_KD, [[0.0], [5.0]])
    assert measures["F"] == pytest.approx(0.5)


def test_without_an_e_step_clients_stay_where_they_trained() -> None:
    # All from centre 1, though 0 and 4 are nearer to centre 0: the M step alone, (0 * 2 + 4 + 6) / 4 = 2.5, F =
    # (2 * 6.25 + 2.25 + 12.25) / 4. Nobody fills the empty group 0.
    at = clients_at(LINE, [0.5, 0.25, 0.25], [1, 1, 1])
    found, measures, events = next_groups(at, "euclidean", np.array([[1.0], [9.0]]), 0, None)
    assert (found.labels_N.tolist(), events) == ([1, 1, 1], ())
    np.testing.assert_allclose(found.centres_KD, [[1.0], [2.5]])
    assert measures["F"] == pytest.approx(27 / 4)


def test_an_empty_group_takes_the_farthest_client_unless_somebody_absent_is_in_it() -> None:
    # Centres 1 and 99: everybody goes to 1, whose mean is 10/3; 0 is farthest from it. Centres then: 5 and 0.
    at, centres_KD = clients_at(LINE, [1 / 3] * 3, [0, 0, 0]), np.array([[1.0], [99.0]])
    found, measures, events = next_groups(at, "euclidean", centres_KD, 1, np.array([0, -1]))
    assert found.labels_N.tolist() == [1, 0, 0]
    np.testing.assert_allclose(found.centres_KD, [[5.0], [0.0]])
    assert measures["F"] == pytest.approx(2 / 3)
    assert events == ({"kind": "group filled again", "client": "0", "group": 1},)
    for absent_N in (None, np.array([0, 1])):
        found, _, events = next_groups(at, "euclidean", centres_KD, 1, absent_N)
        assert (found.labels_N.tolist(), events) == ([0, 0, 0], ())


def test_by_cosine_centres_have_length_one() -> None:
    # Directions at 0 and 90 degrees in one group: the centre lies at 45, F = 2 (1 - cos 45).
    at = clients_at(np.eye(2), [0.5, 0.5], [0, 0])
    for times in (0, 1):
        found, measures, _ = next_groups(at, "cosine", np.array([[1.0, 0.0]]), times, None)
        np.testing.assert_allclose(found.centres_KD, [[0.5**0.5, 0.5**0.5]])
        assert measures["F"] == pytest.approx(2 * (1 - 0.5**0.5))


def test_the_m_step_alone_keeps_groups_and_never_raises_the_objective() -> None:
    # Weights 1 and 3 at 1 and 5: mean 4, F = (9 + 3 * 1) / 4 = 3. Group 1 is empty and stays at 7.
    found = m_step_alone(np.array([[1.0], [5.0]]), np.array([[0.0], [7.0]]), np.array([0, 0]), np.array([1.0, 3.0]))
    assert found.labels_N.tolist() == [0, 0]
    assert found.centres_KD.tolist() == [[4.0], [7.0]]
    assert pytest.approx(3.0) == found.F
