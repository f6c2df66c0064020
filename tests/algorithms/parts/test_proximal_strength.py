"""The search for FedProx's mu by hand, and what rounds with it are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.conftest import make_toy, small_net

import shoal
from shoal.algorithms.parts.proximal_strength import Search, State, mean_loss, search_after, search_on
from shoal.backends import Serial
from shoal.seeds import Key
from shoal.setup.prepare import prepare
from shoal.store.codec import decode, encode, records_of
from shoal.types import Answers


def mus(losses: list[float], error: float = 0.0, mu: float = 0.0) -> list[float]:
    """mu of the rounds after each of these losses."""
    search, found = Search(mu=mu), []
    for loss in losses:
        search = search_on(search, loss, error)
        found.append(search.mu)
    return found


def test_mu_rises_with_the_loss_and_falls_after_five_falls() -> None:
    # Nothing to compare with; up, up; then 1.5, 1.4, 1.3, 1.2, 1.1 are five falls: down; five more: down to 0; a rise.
    losses = [1.0, 1.1, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.7]
    assert mus(losses) == [0.0, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.1]


def test_mu_never_falls_below_nothing() -> None:
    assert mus([float(x) for x in range(20, 0, -1)]) == [0.0] * 20


def test_a_rise_or_a_loss_that_stays_begins_the_count_anew() -> None:
    # Four falls, then a rise: mu 0.6, and four falls more are not five.
    assert mus([9.0, 8.0, 7.0, 6.0, 5.0, 6.0, 5.0, 4.0, 3.0, 2.0], mu=0.5)[-1] == 0.6
    assert mus([9.0, 8.0, 7.0, 6.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.0], mu=0.5)[-1] == 0.5
    assert mus([9.0, 8.0, 7.0, 6.0, 5.0, 4.0], mu=0.5)[-1] == 0.4


def test_a_rise_that_may_be_chance_is_none_and_no_fall_either() -> None:
    # Errors of 0.3 and 0.4 make one of 0.5: above the last loss by 1 is not more than two of them, by 1.1 is.
    before = Search(mu=0.2, falls=3, loss=1.0, error=0.3)
    assert search_on(before, 2.0, 0.4) == Search(mu=0.2, falls=0, loss=2.0, error=0.4)
    assert search_on(before, 2.1, 0.4) == Search(mu=0.3, falls=0, loss=2.1, error=0.4)
    assert search_on(before, 0.9, 0.4) == Search(mu=0.2, falls=4, loss=0.9, error=0.4)


def test_the_mean_loss_and_its_error_by_hand() -> None:
    # Shares 1/4 and 3/4 of losses 4 and 0: mean 1, squares (1/4 * 3)^2 + (3/4 * 1)^2 = 9/8. Of four clients two were
    # asked: half of it is left, sqrt(9/16). Where all were asked nothing is left to chance.
    loss_N, count_N = np.array([4.0, 0.0]), np.array([10, 30])
    np.testing.assert_allclose(mean_loss(loss_N, count_N, 4), (1.0, 0.75))
    assert mean_loss(loss_N, count_N, 2) == (1.0, 0.0)
    assert mean_loss(loss_N, count_N, 1) == (1.0, 0.0)  # some left since


def test_nobody_s_answers_change_nothing() -> None:
    search = Search(mu=0.3, falls=2, loss=1.0)
    assert search_after(search, None, 5) == search_after(search, Answers((), np.zeros(0, int)), 5) == search


@pytest.mark.parametrize("name", ["fedprox", "fedgrouprox", "fedprox+"])
def test_rounds_use_the_mu_that_losses_ask_for(name: str) -> None:
    """A rate at which the loss goes up and down: mu of every round is what the recorded losses say."""
    own: dict[str, Any] = {"fedgrouprox": {"groups": 2, "pretrain_steps": 4}, "fedprox+": {"members": 1}}.get(name, {})
    pairs: dict[str, Any] = {"rounds": 8, "lr": 3.0, "batch": 5, "epochs": 2, "selection": "all", **own}
    run = shoal.run(name, make_toy(), small_net, engine=Serial(), **pairs)
    losses = run.history.column("loss")[1:]
    told = [np.ravel(row["measures"]["mu"])[0] for row in run.history[1:]]
    assert told == [0.0, *mus(losses)[:-1]]
    assert max(told) > 0.1
    plain: dict[str, Any] = {**pairs, "mu": 0.0}
    first, other = (
        shoal.run(name, make_toy(), small_net, engine=Serial(), **{**p, "rounds": 1}) for p in (pairs, plain)
    )
    assert first.serving.models_KP.tobytes() == other.serving.models_KP.tobytes()  # begins as without a term
    assert run.serving.models_KP.tobytes() != (
        shoal.run(name, make_toy(), small_net, engine=Serial(), **plain).serving.models_KP.tobytes()
    )


def test_members_search_for_themselves() -> None:
    pairs: dict[str, Any] = {"rounds": 6, "lr": 3.0, "batch": 5, "clients_per_round": 4, "selection": "random"}
    run = shoal.run("fedprox+", make_toy(), small_net, engine=Serial(), members=3, **pairs)
    assert all(len(row["measures"]["mu"]) == 3 for row in run.history[1:])
    alone = shoal.run("fedprox", make_toy(), small_net, engine=Serial(), **pairs)
    assert run.serving.models_KP[0].tobytes() == alone.serving.models_KP[0].tobytes()


def test_a_state_of_former_times_goes_on() -> None:
    """Checkpoints written when mu was a number hold no search, and their mu stands in the run's settings."""
    plan = prepare("fedprox", make_toy(), small_net, {"mu": 0.5}).plan
    arrays: dict[str, Any] = {}
    tree = encode(State(np.zeros((1, plan.layout.size), np.float32), {}, (Search(),)), arrays)
    del tree["fields"]["search_K"]
    old = decode(tree, arrays, records_of(plan.algorithm.state))
    from shoal.engine import Engine

    engine = Engine(Serial(), plan.layout)
    engine.set_federation(plan.federation)
    state, record = plan.algorithm.step(old, engine, Key(0).at(1))
    assert state.search_K == () and "mu" not in record.measures
