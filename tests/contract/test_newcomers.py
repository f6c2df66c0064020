"""A newcomer that fails while it looks for its group has none, and nobody else is disturbed by that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conftest import small_net
from tests.support import Misbehaving

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import TooFewAnswers
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD

OWN: dict[str, dict[str, Any]] = {"cfl": {"split_rounds": "1"}, "flhc": {"rounds_before": 1}}
SOON: dict[str, dict[str, Any]] = {**OWN, "flhc": {"rounds_before": 0}}  # groups after round 1
NAMES = [name for name in ALGORITHMS if name not in ("given", "fedfusion")]  # tags, and a model of its own


def engine_of(toy: Federation, faults: dict[str, str]) -> Engine:
    engine = Engine(Misbehaving(Serial(), faults), Layout.of(small_net, toy.sample()))
    engine.set_federation(toy)
    return engine


@pytest.mark.parametrize("name", NAMES)
def test_who_fails_gets_no_group(name: str, toy: Federation) -> None:
    method, known = ALGORITHMS[name](**OWN.get(name, {})), toy.keep(list(toy.ids[:10]))
    engine = engine_of(known, {})
    state, _ = method.init(engine, Key(0).at(0))
    for t in (1, 2):
        state, _ = method.step(state, engine, Key(0).at(t))
    asked = engine_of(toy, {"c10": "nan", "c11": "raises"})
    got = method.assign(state, ("c10", "c11"), asked, Key(0).at(3)("assign"))
    ledger = asked.drain()
    if ledger.counts or ledger.diagnostics:  # it asked them
        assert got.cohort == ()
        assert len(got.which_N) == 0
    else:
        assert (got.cohort, got.which_N.tolist()) == (("c10", "c11"), [0, 0])


@pytest.mark.parametrize("name", [name for name in NAMES if ALGORITHMS.traits(name).get("single_model")])
def test_a_method_with_one_model_has_one(name: str, toy: Federation) -> None:
    method, engine = ALGORITHMS[name](), engine_of(toy, {})
    state, _ = method.init(engine, Key(0).at(0))
    assert len(method.serve(state).models_KP) == 1
    assert len(method.serve(method.step(state, engine, Key(0).at(1))[0]).models_KP) == 1


@pytest.mark.parametrize("name", ["fesem", "wecfl", "fedgroup", "flexcfl", "cfl", "flhc"])
def test_what_finds_a_group_for_a_newcomer_leaves_no_momentum_behind(name: str, toy: Federation) -> None:
    """Its first update that counts is the same whether or not it would keep momentum from round to round."""
    updates = []
    for memory in ("kept", "reset"):
        solver = SGD(lr=0.1, epochs=2, momentum=0.9, momentum_memory=memory)
        method = ALGORITHMS[name](**SOON.get(name, {}), select=All(), solver=solver)
        known = toy.keep([c for c in toy.ids if c != "c03"])
        engine = engine_of(known, {})
        state, _ = method.init(engine, Key(0).at(0))
        engine.commit()
        state, _ = method.step(state, engine, Key(0).at(1))
        engine.rollback()  # what others kept would change their groups
        engine.set_federation(toy)
        _, record = method.step(state, engine, Key(0).at(2))
        updates.append(record.trained["update"][record.trained.cohort.index("c03")].tobytes())
    assert updates[0] == updates[1]


@pytest.mark.parametrize("name", ["fesem", "wecfl"])
def test_a_newcomer_of_any_round_is_placed_at_the_rate_of_round_1(name: str) -> None:
    """Beside first solutions, which were learnt at that rate; at a decayed one all newcomers seem near to one group."""
    run = shoal.run(name, "digits", rounds=12, groups=4, lr=0.1, lr_decay=0.7, selection="all", engine="serial", seed=1)
    data = run.plan.federation
    assert [run.assign(*data.client(c)("train")).group for c in run.clients] == [run.groups[c] for c in run.clients]


def test_newcomers_that_fail_count_as_asked(toy: Federation) -> None:
    """Of twelve clients the ten without a group fail: two answers are not the five that a round needs."""
    method = ALGORITHMS["fedgroup"](groups=2, alpha=1, select=All(), solver=SGD(lr=0.1))
    state, _ = method.init(engine_of(toy, {}), Key(0).at(0))
    new = [c for c in toy.ids if c not in state.group]
    assert len(new) == 10
    engine = Engine(
        Misbehaving(Serial(), dict.fromkeys(new, "raises")), Layout.of(small_net, toy.sample()), min_answers=5
    )
    engine.set_federation(toy)
    with pytest.raises(TooFewAnswers, match="2 of 12 answered 'join', at least 5 must; 'c"):
        method.step(state, engine, Key(0).at(1))
    engine = engine_of(toy, dict.fromkeys(new, "raises"))
    assert len(method.step(state, engine, Key(0).at(1))[1].trained) == 2  # one is enough


def test_newcomers_that_trained_as_they_joined_count_as_answers(toy: Federation) -> None:
    own: dict[str, Any] = {"pretrain": "epoch", "reuse_pretraining": True}
    method = ALGORITHMS["fedgroup"](groups=2, alpha=1, select=All(), solver=SGD(lr=0.1, epochs=2), **own)
    state, _ = method.init(engine_of(toy, {}), Key(0).at(0))
    warm = dict.fromkeys((c for c in toy.ids if c in state.group), "raises")
    for least, possible in ((10, True), (11, False)):
        engine = Engine(Misbehaving(Serial(), warm), Layout.of(small_net, toy.sample()), min_answers=least)
        engine.set_federation(toy)
        if possible:
            assert len(method.step(state, engine, Key(0).at(1))[1].trained) == 10
        else:
            with pytest.raises(TooFewAnswers, match="10 of 12 answered 'train', at least 11 must"):
                method.step(state, engine, Key(0).at(1))


def test_a_client_that_is_dead_keeps_no_run_with_path_choice_from_beginning(toy: Federation) -> None:
    method = ALGORITHMS["cfl"](path_choice=True, select=All(), solver=SGD(lr=0.1))
    whole = toy.with_validation(0.2, Key(0))
    engine = engine_of(whole, {"c00": "raises"})
    state, _ = method.init(engine, Key(0).at(0))
    assert len(method.step(state, engine, Key(0).at(1))[1].trained) == 11
    with pytest.raises(TooFewAnswers, match="has no split 'val'"):
        method.init(engine_of(toy, {}), Key(0).at(0))
