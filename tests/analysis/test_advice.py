"""Advice from records made by hand: what each rule says, what it rests on, and when it is silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import small_net
from tests.report.records import regression

import shoal
from shoal.analysis.advice import Advice, advise
from shoal.analysis.advice.across import advise_across, worth
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.loop.history import History
from shoal.scores import Score
from shoal.store.folder import Folder


def rows(*parts: dict[str, Any], **always: Any) -> History:
    return History([{"round": t, **always, **part} for t, part in enumerate(parts)])


def said(algorithm: str, own: dict[str, Any], history: History) -> dict[str, Advice]:
    return {advice.about: advice for advice in advise(algorithm, own, history)}


# --------------------------------------------------------------------------------------------------------------- splits


def cluster(verdict: str, relative: float, apart: bool, clients: int = 8) -> dict[str, Any]:
    told = {"mean_norm": 0.1, "max_norm": 0.5, "clients": clients, "mean_relative": relative, "apart": apart}
    return {**told, "subgroups": 2, "verdict": verdict, "reason": f"it was {verdict}"}


def judged(**clusters: dict[str, Any]) -> dict[str, Any]:
    return {"measures": {"clusters": {k[1:]: v for k, v in clusters.items()}}}


def test_the_last_verdict_on_every_cluster_is_told() -> None:
    first, then = judged(c0=cluster("moving", 0.7, False)), judged(c0=cluster("split", 0.3, True))
    after = judged(c0=cluster("refused", 0.3, False, 4), c1=cluster("final", 0.3, False, 4))
    found = said("cfl", {"eps1": "auto", "eps2": "auto"}, rows({}, first, then, after))
    assert found["clusters"].numbers == {"0": "refused", "1": "final"}
    assert found["clusters"].text == (
        "cluster 0 (4 clients, round 3): it was refused; cluster 1 (4 clients, round 3): it was final"
    )
    assert {"eps1", "eps2"}.isdisjoint(found)


def test_given_thresholds_are_held_against_the_guard() -> None:
    # Split in round 1 while it moved, in round 2 without groups; in round 3 cluster 1 is mixed and left whole.
    one, two = (
        judged(c0=cluster("split", 0.7, True)),
        judged(c0=cluster("split", 0.3, False), c1=cluster("moving", 0.4, True)),
    )
    last = judged(c0=cluster("final", 0.3, False), c1=cluster("final", 0.4, True), c2=cluster("final", 0.6, True))
    found = said("cfl", {"eps1": 0.1, "eps2": 0.3}, rows({}, one, two, last))
    assert found["eps2"].numbers == {"torn": [(1, 0), (2, 0)]}
    assert "2 of 2 splits" in found["eps2"].text
    assert found["eps1"].numbers == {"mixed": {1: 2}}
    assert found["eps1"].change == found["eps2"].change == {"eps1": "auto", "eps2": "auto"}
    right = said("cfl", {"eps1": 0.1, "eps2": 0.3}, rows({}, judged(c0=cluster("split", 0.3, True))))
    assert {"eps1", "eps2"}.isdisjoint(right)


def test_records_that_do_not_tell_why_ask_for_another_run() -> None:
    old = {"measures": {"clusters": {"0": {"mean_norm": 0.1, "max_norm": 0.5, "clients": 4}}}}
    found = said("cfl", {"eps1": 0.1, "eps2": 0.3}, rows({}, old, old))
    assert found["eps1"].change == {"eps1": "auto", "eps2": "auto"}
    assert "do not tell why" in found["eps1"].text


def test_the_advice_finds_the_groups_that_thresholds_kept_together() -> None:
    look = shoal.run("cfl", "digits", eps1=0.0, lr=0.1, rounds=25, seed=1, engine="serial", eval_every=25)
    change: dict[str, Any] = {}
    for advice in look.advise():
        change |= {k: v for k, v in advice.change.items() if k.startswith("eps")}
    assert change == {"eps1": "auto", "eps2": "auto"}
    found = shoal.run("cfl", "digits", **change, lr=0.1, rounds=40, seed=1, engine="serial", eval_every=40)
    assert found.summary["ari"] > 0.9


# --------------------------------------------------------------------------------------------------------------- groups


def clustered(**measures: Any) -> History:
    return rows({"measures": measures}, {"group_size": [5, 5], "groups": 2})


def test_another_number_of_groups() -> None:
    values = {"2": 0.3, "3": 0.4, "4": 0.7, "5": 0.6}
    few = said("wecfl", {"groups": 2}, clustered(silhouette=values))["groups"]
    assert few.change == {"groups": 4}
    assert "2 groups look too few" in few.text
    assert "too many" in said("wecfl", {"groups": 5}, clustered(silhouette=values))["groups"].text
    assert not said("wecfl", {"groups": 4}, clustered(silhouette=values))
    assert not said("wecfl", {"groups": "auto"}, clustered(silhouette=values))


def test_a_flat_curve_and_no_groups_at_all() -> None:
    guess = said("wecfl", {"groups": "auto"}, clustered(silhouette={"2": 0.30, "3": 0.31, "4": 0.2}))["groups"]
    assert "a guess" in guess.text
    assert guess.numbers["close"] == [2]
    assert (
        "no number of groups fits"
        in said("wecfl", {"groups": 3}, clustered(silhouette={"2": 0.1, "3": 0.05}))["groups"].text
    )


def test_tiny_like_and_wide_groups() -> None:
    many = rows({}, {"group_size": [6, 1, 6, 1], "groups": 4})
    assert said("wecfl", {}, many)["groups"].numbers["single"] == [1, 3]
    assert not said("cfl", {}, many)  # it finds the number itself
    alike = said("fedgroup", {}, clustered(group_silhouette=[0.7, 0.02, 0.05]))["groups"]
    assert alike.numbers["alike"] == [1, 2]
    wide = said("fedgroup", {}, clustered(spread=[0.1, 0.9, 0.2]))["groups"]
    assert wide.numbers["widest"] == 1
    assert "6.0 times as wide" in wide.text  # the median of 0.1 and 0.2 is 0.15
    assert not said("fedgroup", {}, clustered(spread=[0.1, 0.3, 0.2], group_silhouette=[0.7, 0.02, 0.5]))


def test_empty_groups_and_collapse() -> None:
    gone = rows({"group_size": [10, 0, 5, 0]})
    assert said("ifca", {}, gone)["empty groups"].change == {"init_min_share": 0.1}
    assert said("fesem", {"init": "random_models"}, gone)["empty groups"].change == {"init": "directions"}
    assert said("wecfl", {}, gone)["empty groups"].change == {"groups": 2}
    one = said("ifca", {}, rows({"group_size": [15, 0]}))["empty groups"]
    assert "all clients are in one of 2 groups" in one.text
    assert not said("ifca", {}, rows({"group_size": [10, 5]}))


def test_groups_that_do_not_disagree() -> None:
    tested = {"accuracy": 0.91, "accuracy_mean": 0.905, "group_size": [3, 4]}
    assert said("fedgroup", {}, rows({}, tested))["need"].numbers == {"accuracy": 0.91, "accuracy_mean": 0.905}
    assert not said("fedgroup", {}, rows({}, {**tested, "accuracy_mean": 0.6}))


# ------------------------------------------------------------------------------------------------------------- training


def test_clients_answers_and_rounds_that_are_missing() -> None:
    found = said(
        "ifca", {}, rows({}, {"partial": True, "trained": 10, "left_out": 4}, {"partial": True, "skipped": True})
    )
    assert found["clients"].change == {"selection": "round-robin-then-random"}
    assert found["left out"].numbers == {"left_out": 4, "trained": 10}
    assert found["skipped"].numbers == {"rounds": [2]}
    assert not said(
        "ifca", {}, rows({}, {"partial": True, "trained": 10, "left_out": 0}, {"partial": False, "trained": 9})
    )


def test_accuracy_that_falls_or_still_rises() -> None:
    falls = said("fedavg", {}, rows(*({"accuracy": a} for a in (0.2, 0.9, 0.8, 0.7, 0.7, 0.7))))
    assert falls["accuracy"].numbers["round"] == 1
    rises = said("fedavg", {}, rows(*({"accuracy": 0.05 * t} for t in range(12))))
    assert rises["rounds"].change == {"rounds": 22}
    assert not said("fedavg", {}, rows(*({"accuracy": 0.8} for _ in range(12))))
    assert said("fedavg", {}, rows({}, {"loss": 1.0, "trained": 3}, {"loss": None, "trained": 3}))["loss"].numbers[
        "rounds"
    ] == [2]


def test_drift_that_nobody_notices() -> None:
    blind = rows({}, *({"drifted": 3, "measures": {"shifted": 0, "migrated": 0}} for _ in range(3)))
    assert said("flexcfl", {}, blind)["drift"].numbers == {"drifted": 9, "shifted": 0}
    seen = rows({}, *({"drifted": 3, "measures": {"shifted": 1, "migrated": 0}} for _ in range(3)))
    assert not said("flexcfl", {}, seen)


def test_what_the_theory_says() -> None:
    R = (2.0, 1.5, 1.6, 1.2)
    parts = ({"measures": {"R": r, "gradient_square": 0.1 * i, "lr_descent": 0.02}} for i, r in enumerate(R))
    found = said("wecfl", {}, rows({}, *parts))["theory"]
    assert found.numbers["rises"] == 1
    assert found.numbers["gradient_square"] == pytest.approx(0.15)
    assert "lr below 0.02" in found.text
    moving = said("wecfl", {}, rows({}, *({"measures": {"moved": 2}} for _ in range(8))))
    assert moving["settling"].numbers == {"moves": 4}


def test_nothing_to_say() -> None:
    assert advise("fedavg", {}, History([])) == []
    assert advise("fedavg", {}, rows({}, {"accuracy": 0.5, "trained": 3})) == []


def test_a_run_advises_and_so_does_one_of_an_own_algorithm(toy: Federation) -> None:
    run = shoal.run("ifca", toy, small_net, rounds=1, groups=8, engine=Serial())
    assert "empty groups" in {advice.about for advice in run.advise()}
    assert isinstance(shoal.run(shoal.FedAvg(), toy, small_net, rounds=1, engine=Serial()).advise(), list)


ODD: tuple[Any, ...] = (
    3,
    "text",
    None,
    [],
    {},
    [None, "x"],
    {"a": 1},
    {"0": 1},
    {"0": {"mean_norm": "much"}},
    [[1]],
    True,
)
READ = ("clusters", "silhouette", "group_silhouette", "spread", "shifted", "moved", "R", "gradient_square", "values")


@pytest.mark.parametrize("value", ODD, ids=str)
def test_measures_of_own_methods_may_be_anything(value: Any) -> None:
    """Whatever stands there: what has not the shape that a rule reads is passed over."""
    odd = rows({}, *({"measures": dict.fromkeys(READ, value), "group_size": [3, 3], "drifted": 9} for _ in range(9)))
    for name in ("cfl", "wecfl", "flexcfl", "an own one"):
        assert isinstance(advise(name, {"groups": 2}, odd), list)


def test_own_models_are_spoken_of_only_if_some_were_run() -> None:
    def run(name: str, score: float) -> tuple[dict[str, Any], float]:
        return {"algorithm": name}, score

    [alone] = worth([run("fedavg", 0.5), run("ifca", 0.9)])
    assert "ahead of one model (" in alone.text and "own models" not in alone.text
    [both] = worth([run("fedavg", 0.5), run("ifca", 0.9), run("local", 0.7)])
    assert "ahead of one model and of own models (" in both.text


# --------------------------------------------------------------------------------------------------- chains of one


def chained(*rounds: tuple[int, int]) -> History:
    return rows({}, *({"measures": {"groups": m, "alone": alone, "seated": 20}} for m, alone in rounds))


def test_chains_of_one_client_are_told_with_the_round_and_a_cure() -> None:
    found = said("fedgsp", {"beta": 10, "alpha": 2.0}, chained((10, 0), (20, 20), (20, 20)))["chains"]
    assert found.change == {"beta": "auto"}
    assert "from round 2 on most groups hold a single client (20 of 20)" in found.text
    assert "beta=auto makes chains longer" in found.text
    assert said("naivegsp", {"groups": 20}, chained((20, 20)))["chains"].change == {"groups": "auto"}
    # Where beta is no more than auto would be, growth is the cure.
    assert said("fedgsp", {"beta": "auto", "alpha": 2.0}, chained((15, 10)))["chains"].change == {"alpha": 1.0}
    assert said("fedgsp", {"beta": 1, "alpha": 4.0}, chained((15, 10)))["chains"].change == {"alpha": 2.0}


def test_chains_that_are_long_enough_need_no_word() -> None:
    assert "chains" not in said("fedgsp", {"beta": 10}, chained((10, 0), (14, 7)))  # half of them
    assert "chains" not in said("fedgsp", {"beta": 1}, chained((1, 1)))  # one group of one client: there is no other
    assert "chains" not in said("fedgsp", {"beta": 10}, rows({}, {"measures": {"groups": 20}}))  # a run of former times


# ------------------------------------------------------------------------------------------------------- other scores

RMSE = Score("rmse", "lower", percent=False)


def test_a_score_of_which_less_is_better_falls_and_rises_the_other_way() -> None:
    """Best 10 in round 5, 14 at the end: worse by more than a twentieth. And 100 falling to 82: still better."""
    worse = [{"round": t, "rmse": v} for t, v in enumerate([20, 16, 13, 11, 10, 14, 14, 14])]
    found = {a.about: a for a in advise("fedavg", {}, History(worse, RMSE))}
    assert found["rmse"].text.startswith("RMSE rose from 10 in round 4 to 14 in the last three tests")
    better = [{"round": t, "rmse": 100 - 2 * t} for t in range(10)]
    found = {a.about: a for a in advise("fedavg", {}, History(better, RMSE))}
    assert found["rounds"].text == "RMSE still falls (84 to 82 over the last tests): play more rounds"
    assert "rmse" not in found


def test_whether_groups_are_worth_it_goes_by_the_score(tmp_path: Path) -> None:
    """IFCA's 0.3 is better than 0.6 of one model for all; the other way round, groups gain nothing."""
    good = [regression(tmp_path / "a", [0.6], "fedavg"), regression(tmp_path / "b", [0.3], "ifca")]
    [told] = advise_across([Folder(path) for path in good])
    assert told.text == "groups are worth it: ifca is ahead of one model (fedavg 0.6, ifca 0.3)"
    bad = [regression(tmp_path / "c", [0.3], "fedavg"), regression(tmp_path / "d", [0.6], "ifca")]
    [told] = advise_across([Folder(path) for path in bad])
    assert told.text.startswith("groups gain nothing over one model")


def test_the_mean_of_all_groups_is_held_against_the_score() -> None:
    row = {"round": 1, "rmse": 0.50, "rmse_mean": 0.51, "group_size": [3, 3], "groups": 2}
    about = [a.about for a in advise("ifca", {}, History([{**row, "rmse_mean": 0.501}], RMSE))]
    assert about == ["need"]  # within a hundredth
    assert advise("ifca", {}, History([{**row, "rmse_mean": 0.9}], RMSE)) == []
