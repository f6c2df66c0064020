"""Label histograms, and their noise: whole numbers, unbiased, of the law promised."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import small_net

from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks import LabelHistogram
from shoal.tasks.label_histogram import whole_laplace


def test_noise_has_the_law_promised() -> None:
    # P(z) = (1 - a) / (1 + a) a^|z|, a = exp(-epsilon); variance 2 a / (1 - a)^2.
    draws, a = whole_laplace(0.5, 200_000, np.random.default_rng(0)), np.exp(-0.5)
    assert draws.dtype.kind == "i"
    assert draws.mean() == pytest.approx(0, abs=0.03)
    assert draws.var() == pytest.approx(2 * a / (1 - a) ** 2, rel=0.02)
    for z in (-2, 0, 1, 4):
        assert (draws == z).mean() == pytest.approx((1 - a) / (1 + a) * a ** abs(z), rel=0.05)


def test_one_sample_more_changes_the_odds_by_exp_epsilon_at_most() -> None:
    a = np.exp(-0.5)
    told = np.arange(-30, 31)
    law = a ** np.abs(told - 3) / a ** np.abs(told - 4)  # counts 3 and 4
    assert law.max() <= np.exp(0.5) * (1 + 1e-12)


def test_answers_are_counts_with_noise_that_the_key_decides(toy: Federation) -> None:
    net = Net(Layout.of(small_net, toy.sample()))
    data, ask = toy.client("c11"), LabelHistogram(epsilon=1.0)
    clear = LabelHistogram()(net, None, data, {}, Key(0))[0]["histogram"]
    told = [ask(net, None, data, {}, Key(seed).of("c11"))[0]["histogram"] for seed in range(200)]
    again = ask(net, None, data, {}, Key(0).of("c11"))[0]["histogram"]
    assert np.array_equal(told[0], again)
    assert np.min(told) >= 0
    np.testing.assert_allclose(np.mean(told, 0), clear, atol=0.5)
    assert np.std(told, 0).min() > 0.5


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("inf"), float("nan")])
def test_an_epsilon_that_means_nothing_is_refused(epsilon: float) -> None:
    with pytest.raises(BadInput, match="epsilon must be above 0"):
        LabelHistogram(epsilon=epsilon)


def test_noise_takes_a_count_down_to_nothing_and_no_further(toy: Federation) -> None:
    net, ask = (
        Net(Layout.of(small_net, toy.sample())),
        LabelHistogram(epsilon=0.01),
    )  # deviation 141: half would be below
    told = [ask(net, None, toy.client("c00"), {}, Key(seed).of("c00"))[0]["histogram"] for seed in range(20)]
    assert np.min(told) == 0
