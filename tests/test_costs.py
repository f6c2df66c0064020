"""The cost models of FedGSP's paper: its figures, a case by hand, and the columns of a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

import shoal
from shoal.algorithms.parts.growth import growth
from shoal.backends import Serial
from shoal.costs import Parallel, d_comm, t_comm, t_comp
from shoal.data.federation import Federation
from shoal.layout import Layout
from shoal.loop.cost_estimate import estimate
from shoal.loop.operations import flops_per_sample
from shoal.models import factory
from shoal.setup.prepare import prepare

CLIENTS, KAPPA, SAMPLES = 368, 0.3, 226
GSP = [growth("log", r, 2, 10) for r in range(1, 35)]  # 34 rounds to 80 %
AVG = [CLIENTS] * 470


def test_the_paper_s_figures() -> None:
    assert t_comp(GSP, CLIENTS, KAPPA, SAMPLES) == pytest.approx(10.19, abs=0.005)
    assert t_comm(34, CLIENTS, KAPPA) == pytest.approx(2669.2, abs=0.05)
    assert d_comm(34, CLIENTS, KAPPA) / 1e9 == pytest.approx(189.2, abs=0.05)
    assert t_comp(AVG, CLIENTS, KAPPA, SAMPLES) == pytest.approx(18.56, abs=0.005)
    assert t_comm(470, CLIENTS, KAPPA) == pytest.approx(36_898, abs=0.5)
    assert d_comm(470, CLIENTS, KAPPA) / 1e12 == pytest.approx(2.615, abs=0.0005)


def test_the_paper_s_reduction() -> None:
    gsp = t_comp(GSP, CLIENTS, KAPPA, SAMPLES) + t_comm(34, CLIENTS, KAPPA)
    avg = t_comp(AVG, CLIENTS, KAPPA, SAMPLES) + t_comm(470, CLIENTS, KAPPA)
    assert round(100 * (1 - gsp / avg)) == 93
    assert round(100 * (1 - d_comm(34, CLIENTS, KAPPA) / d_comm(470, CLIENTS, KAPPA))) == 93


def test_kappa_scales_sending_and_hardly_computing() -> None:
    assert t_comm(10, CLIENTS, 1.0) == pytest.approx(10 * t_comm(10, CLIENTS, 0.1))
    few, all_ = (t_comp(GSP, CLIENTS, kappa, SAMPLES) for kappa in (0.1, 1.0))
    assert few < all_ < 1.01 * few


def test_computing_by_hand() -> None:
    # K = 4, 10 samples, 2 epochs, 1 operation a second. f = 1: 20 * 4 / 1 = 80, and kappa f - 1 < 0 counts as 0;
    # f = 8 > K: 20 * 4 / 4 = 20, and 0.5 * 8 - 1 = 3 models to add at 2 operations each.
    assert t_comp([1, 8], 4, 0.5, 10, epochs=2, calc=1, aggr=2, flops=1) == 80 + 20 + 6


def test_operations_of_the_paper_s_network_are_about_the_paper_s() -> None:
    import numpy as np

    sample = np.zeros((1, 1, 28, 28), np.float32)
    # Multiply-adds forward: 28^2*32*25 + 14^2*64*32*25 + 3136*2048 + 2048*62 = 17,211,904 times 2; twice that again
    # backward, but for the gradient of the input of the first convolution.
    first = 2 * 28**2 * 32 * 25
    want = 6 * 17_211_904 - first
    assert flops_per_sample(Layout.of(factory("fedgsp-leaf", (1, 28, 28), 62), sample), sample) == want
    assert want == pytest.approx(96e6, rel=0.07)


def test_operations_of_recurrent_networks_are_not_guessed() -> None:
    import numpy as np

    sample = np.zeros((1, 5, 3), np.float32)
    assert flops_per_sample(Layout.of(factory("sent140-gru", (5, 3), 2), sample), sample) is None


def linear() -> nn.Module:
    return nn.Linear(6, 3)


def test_estimates_of_a_run_by_hand(toy: Federation) -> None:
    # 12 clients of (12 + 3 i) samples, a quarter for testing. Linear 6 -> 3: 21 numbers, 84 bytes; 2*6*3 operations
    # forward and as many for the kernel's gradient: 72 a sample.
    pairs = {"rounds": 2, "beta": 3, "alpha": 0, "kappa": 0.5, "epochs": 2}
    plan = prepare("fedgsp", toy, linear, pairs).plan
    found = estimate(plan, 2)
    n = toy.roster.sizes_N.mean()  # half of three groups are two (D30): 8 of 12 clients, and one model to add
    assert found["d_comm"] == pytest.approx(2 * 8 * 84 * 2 / 1e6)
    assert found["t_comm"] == pytest.approx(8 * 8 * 84 * 2 * 2 / 567e6)
    assert found["t_comp"] == pytest.approx((72 * 2 * 2 * n * 12 / 3 + 2 * 21 * 1) / 567e9)


def test_rounds_say_what_they_cost(toy: Federation) -> None:
    # f(r) = 2, 4, 6 groups of 12 clients; one pass of the mean client: 72 n 12 / f, and 21 (0.5 f - 1) to add up.
    run = shoal.run("fedgsp", toy, linear, rounds=3, engine=Serial(), beta=2, kappa=0.5, growth="linear", alpha=1)
    n = toy.roster.sizes_N.mean()
    assert "t_comp" not in run.history[0]
    rows = run.history[1:]
    want = [(72 * n * 12 / f + 21 * (0.5 * f - 1)) / 567e9 for f in (2, 4, 6)]
    assert [r["t_comp"] for r in rows] == pytest.approx(want)
    assert [r["t_comm"] for r in rows] == pytest.approx([8 * 0.5 * 12 * 84 * 2 / 567e6] * 3)
    for key in ("t_comp", "t_comm", "d_comm"):
        assert run.history.estimated(key, 3) == pytest.approx(run.summary[key])
    assert run.history.estimated("t_comp", 2) == pytest.approx(sum(want[:2]))


def test_who_is_how_parallel(toy: Federation) -> None:
    def how(name: str, **own: object) -> Parallel:
        plan = prepare(name, toy, linear, own).plan
        found = plan.algorithm.parallel(3, 12)
        assert found is not None
        return found

    assert how("fedavg", clients_per_round=3) == Parallel([12] * 3, 0.25)
    assert how("fedadam", selection="all") == Parallel([12] * 3, 1.0)
    assert how("fedgsp", beta=2, kappa=0.5) == Parallel([2, 4, 6], [0.5] * 3, [12] * 3)
    # f = 5, 10, 15: at most 12 groups; 0.3 of them are 2 (1.5), 3 and 4 (3.6). Equal groups seat 5 * 2, 10 and 12.
    shares = [2 / 5, 3 / 10, 4 / 12]
    assert how("fedgsp", beta=5) == Parallel([5, 10, 12], shares, [12] * 3)
    assert how("fedgsp", beta=5, seats="equal") == Parallel([5, 10, 12], shares, [10, 10, 12])
    assert how("fedgsp", beta=5, seats="equal", grouping="random") == how("fedgsp", beta=5)
    assert how("naivegsp", groups=5) == Parallel([5] * 3, [2 / 5] * 3, [12] * 3)
    assert how("fedgsp") == Parallel([1, 2, 3], [1, 1 / 2, 1 / 3], [12] * 3)  # auto: 10 * 12 / 368 is 0.33
    assert how("naivegsp") == Parallel([2] * 3, [1 / 2] * 3, [12] * 3)  # 52 * 12 / 368 is 1.7
    assert estimate(prepare("ifca", toy, linear, {}).plan, 3) == {}


def test_a_comparison_shows_estimates_beside_counts(toy: Federation, tmp_path: Path) -> None:
    # Four chains of three, all of them: what travels is what the model says, but for a count and a loss per answer.
    for name, own in (("fedgsp", {"beta": 4, "alpha": 0, "kappa": 1}), ("ifca", {"groups": 2})):
        shoal.run(name, toy, linear, rounds=2, engine=Serial(), out=tmp_path / name, **own)  # type: ignore[arg-type]
    gsp, ifca = (line.figures for line in shoal.compare([tmp_path / "fedgsp", tmp_path / "ifca"]))
    assert gsp["d_comm"] is not None and gsp["megabytes"] is not None and gsp["t_comp"] is not None
    assert gsp["d_comm"].mean == pytest.approx(2 * 12 * 84 * 2 / 1e6)
    small = 2 * 12 * 16 + 12 * 3 * 8  # counts and losses of two rounds, and the label histograms
    assert gsp["megabytes"].mean == pytest.approx(gsp["d_comm"].mean + small / 1e6)
    assert ifca["d_comm"] is None


@pytest.mark.parametrize("own", [{"beta": 5}, {"beta": 5, "seats": "equal"}, {}, {"beta": 4, "kappa": 0.5}])
def test_estimates_are_what_is_counted(toy: Federation, own: dict[str, object], tmp_path: Path) -> None:
    # Chains differ by one client where groups do, so that a draw of them may hold some more or less than their share.
    run = shoal.run("fedgsp", toy, linear, rounds=4, engine=Serial(), out=tmp_path / "run", **own)  # type: ignore[arg-type]
    trained = sum(row["measures"]["clients"] for row in run.history[1:])
    told = estimate(run.plan, 4)["d_comm"] * 1e6 / (2 * 84)
    drawn = sum(row["trained"] for row in run.history[1:])
    assert abs(trained - told) < drawn  # less than a client in a chain
