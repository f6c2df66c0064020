"""Sizes of clients are drawn by the laws of FedProx's scripts."""

from __future__ import annotations

import json

import numpy as np
from tools.client_sizes import FEDERATIONS, TARGET, femnist, mnist, results, spread, synthetic


def test_as_many_clients_as_the_papers_have() -> None:
    rng = np.random.default_rng(0)
    drawn = (mnist(2.0)(rng), femnist(rng), synthetic(rng))
    assert [len(sizes) for sizes in drawn] == [1000, 200, 100]
    assert [min(sizes) for sizes in drawn[::2]] >= [10, 50]


def test_a_draw_is_its_seed_and_shares_are_counted() -> None:
    """One draw is least, middle and largest; it is at most what is published or it is not."""
    one = spread("synthetic", 1)
    total = sum(synthetic(np.random.default_rng(0)))
    assert one["least"] == one["median"] == one["largest"] == total
    assert one["at_most_published"] == float(total <= 75349)


def test_what_is_committed_has_all_federations() -> None:
    found = json.loads(TARGET.read_text(encoding="utf-8"))
    assert list(found["federations"]) == list(FEDERATIONS) == list(results(1)["federations"])
