"""A probe: the numbers by hand, the draws of FedGroup's cold start, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net

import shoal
from shoal.analysis.probe import compare, fitted, pearson
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.measures import cosine, madc
from shoal.seeds import Key


def test_correlation_and_line_by_hand() -> None:
    # x = 1, 2, 3 and y = 1, 3, 2: covariance 1 * 1/3, variances 2/3 each: r = 1/2, slope 1/2, intercept 2 - 1.
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    assert pearson(x, y) == pytest.approx(0.5)
    assert fitted(x, y) == pytest.approx((0.5, 1.0))
    assert np.isnan(pearson(x, np.ones(3)))
    assert fitted(np.ones(3), y) == (0.0, 2.0)


def test_all_measures_on_the_same_updates() -> None:
    rng = np.random.default_rng(0)
    updates = np.repeat(np.eye(40)[:3], 5, axis=0) * rng.uniform(1, 3, (15, 1)) + 0.02 * rng.normal(size=(15, 40))
    found = compare("m", 40, updates, 3, Key(0), np.repeat(np.arange(3), 5))
    np.testing.assert_allclose(found.cosine_NN, cosine(updates), atol=1e-9)
    np.testing.assert_allclose(found.madc_NN, madc(cosine(updates)), atol=1e-9)
    assert (found.groups, found.ari) == (3, 1.0)
    assert found.correlation[3] > 0.99
    pairs = 1 - cosine(updates)[np.triu_indices(15, 1)]
    assert found.contrast["cosine"] == pytest.approx(np.ptp(pairs) / pairs.min(), rel=1e-6)


def test_it_sees_what_fedgroup_sees(toy: Federation) -> None:
    keys: dict[str, Any] = {"lr": 0.1, "seed": 3, "engine": "serial"}
    [found] = shoal.probe(toy, small_net, **keys).alike
    run = shoal.run("fedgroup", toy, small_net, groups="auto", rounds=0, **keys)
    assert found.groups == len(run.models)
    assert found.silhouette == run.history[0]["measures"]["silhouette"]
    assert found.labels_N.tolist() == list(run.groups.values())
    assert found.ari == run.history[0]["ari"]


def test_bad_input(toy: Federation) -> None:
    with pytest.raises(BadInput, match="at least 3 clients"):
        shoal.probe(toy, small_net, clients=2)
    with pytest.raises(BadInput, match="the federation has 2"):
        shoal.probe(toy.keep(["c00", "c01"]), small_net)
    with pytest.raises(BadInput, match="lr=-1 is not possible"):
        shoal.probe(toy, small_net, lr=-1)
