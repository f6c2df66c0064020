"""Groups inside a cluster: where they stand apart, where they do not, and the cut between them."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.parts.subgroups import ORDER, SILHOUETTE, Subgroups, cut_between, subgroups
from shoal.clusterers import bipartition
from shoal.measures import cosine


def blocks(inside: float, across: float, *sizes: int) -> np.ndarray:
    """Similarities of groups: one number inside, one across."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    found = np.where(labels[:, None] == labels, inside, across)
    np.fill_diagonal(found, 1.0)
    return found


def test_blocks_are_found_with_their_silhouette() -> None:
    # Distances 0.4 inside, 1.0 across: everybody has (1 - 0.4) / 1 = 0.6, and every order is right.
    found = subgroups(blocks(0.6, 0.0, 3, 4, 5))
    assert found.labels_N.tolist() == [0] * 3 + [1] * 4 + [2] * 5
    assert (round(found.silhouette, 9), found.order, found.number, found.apart) == (0.6, 1.0, 3, True)


def test_groups_of_two_are_not_looked_for() -> None:
    assert not subgroups(blocks(0.9, -0.9, 2, 2)).apart
    assert not subgroups(blocks(0.9, -0.9, 3, 2)).apart
    assert subgroups(blocks(0.9, -0.9, 3, 3)).apart


def test_both_limits_count() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert Subgroups(labels, SILHOUETTE, ORDER).apart
    assert not Subgroups(labels, SILHOUETTE - 0.01, 1.0).apart
    assert not Subgroups(labels, 1.0, ORDER - 0.01).apart
    assert not Subgroups(np.zeros(6, int), 1.0, 1.0).apart
    # Distances 0.75 inside, 1.0 across: a silhouette of 0.25 only, however well ordered.
    assert not subgroups(blocks(0.25, 0.0, 5, 5)).apart


def test_clients_of_one_population_form_no_groups_and_those_of_three_do() -> None:
    # Updates of 21 clients: a common part and noise of 0.7 times its length, in 50 numbers; then three common parts.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = 0.7 * rng.normal(size=(21, 50))
        common = rng.normal(size=(3, 50))
        assert not subgroups(cosine(common[0] + noise)).apart
        apart = subgroups(cosine(np.repeat(common, 7, axis=0) + noise))
        assert apart.apart
        assert apart.labels_N.tolist() == np.repeat([0, 1, 2], 7).tolist()


def test_the_cut_divides_no_group() -> None:
    # Client 6 is like nobody, yet in the second group: the exact cut takes it off, the cut between groups does not.
    a = blocks(0.6, 0.1, 3, 4)
    a[6, :6] = a[:6, 6] = [0.05, 0.05, 0.05, 0.08, 0.08, 0.08]
    assert np.bincount(bipartition(a).labels_N).min() == 1
    cut = cut_between(a, np.array([0, 0, 0, 1, 1, 1, 1]))
    assert (cut.labels_N.tolist(), cut.cross) == ([0, 0, 0, 1, 1, 1, 1], 0.1)
    # Of three groups the two most alike, 0.3, stay together.
    b = blocks(0.9, 0.0, 3, 3, 3)
    b[:3, 6:] = b[6:, :3] = 0.3
    assert cut_between(b, np.repeat([0, 1, 2], 3)).labels_N.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
