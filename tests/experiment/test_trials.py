"""`auto` from end to end: what it tries, what it runs, what is left in the records, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.data.on_demand import OnDemand
from shoal.experiment.evidence import Trial
from shoal.experiment.sweep import continue_sweep
from shoal.experiment.trials import evidence_of, on_the_same_clients
from shoal.report import page_of
from shoal.seeds import Key
from shoal.setup.prepare import prepare
from shoal.setup.resolve import resolve
from shoal.store.folder import Folder

QUICK: dict[str, Any] = {"rounds": 12, "lr": 0.1, "engine": "serial"}


def tried(**pairs: Any) -> Any:
    heard: list[str] = []
    found = evidence_of(resolve("auto", "digits", None, {**QUICK, **pairs}), Serial(), heard.append)
    return found, heard


@pytest.fixture(scope="module")
def permuted(tmp_path_factory: pytest.TempPathFactory) -> shoal.Run:
    return shoal.run("auto", "digits", partition="permuted:4", out=tmp_path_factory.mktemp("auto") / "run", **QUICK)


def test_groups_are_found_and_run(permuted: shoal.Run) -> None:
    assert permuted.folder is not None
    config = Folder(permuted.folder).config()
    assert config["algorithm"] in ("flexcfl", "wecfl")
    assert config[config["algorithm"]]["groups"] == 4
    assert (config["chosen_by"], config["val"]) == ("auto", 0.0)
    assert permuted.summary["ari"] == 1.0
    assert permuted.history[-1]["round"] == 12


def test_the_records_say_why(permuted: shoal.Run) -> None:
    assert permuted.folder is not None
    events = [json.loads(line) for line in (permuted.folder / "events.jsonl").read_text().splitlines()]
    said = [e for e in events if e["kind"] == "decision"]
    assert [e["round"] for e in said] == [0] * 5
    assert tuple(e["says"] for e in said) == permuted.decision
    assert list(Folder(permuted.folder).notes()) == [{k: v for k, v in e.items() if k != "round"} for e in said]
    assert said[1]["groups"] == 4


def test_the_page_says_why_and_does_not_call_it_an_event(permuted: shoal.Run) -> None:
    assert permuted.folder is not None
    first = page_of(permuted.folder).sections[0]
    assert first.title == "Why this method"
    assert [row[1] for row in first.sheets[0].rows] == list(permuted.decision)
    happened = next(s for s in page_of(permuted.folder).sections if s.title == "What happened")
    assert "decision" not in str(happened)


def test_a_longer_run_goes_on_with_the_same_method(permuted: shoal.Run, tmp_path: Path) -> None:
    again = shoal.run("auto", "digits", partition="permuted:4", out=tmp_path / "r", **QUICK)
    longer = shoal.resume(tmp_path / "r", rounds=14)
    assert (longer.decision, len(longer.history)) == (permuted.decision, 15)
    assert again.decision == permuted.decision
    assert Folder(tmp_path / "r").config()["chosen_by"] == "auto"


def test_a_run_that_begins_again_still_says_why(tmp_path: Path) -> None:
    made = shoal.run("auto", "digits", partition="iid:clients=4", out=tmp_path / "r", rounds=2, engine="serial")
    for file in (tmp_path / "r" / "checkpoints").iterdir():
        file.unlink()
    (tmp_path / "r" / "summary.json").unlink()
    again = shoal.resume(tmp_path / "r")
    assert again.decision == made.decision
    assert (tmp_path / "r" / "events.jsonl").read_text().count('"decision"') == 5
    assert again.summary["last_accuracy"] == made.summary["last_accuracy"]


def test_the_run_is_that_of_the_method_by_itself(permuted: shoal.Run) -> None:
    assert permuted.folder is not None
    config = Folder(permuted.folder).config()
    name = config["algorithm"]
    alone = shoal.run(name, "digits", partition="permuted:4", **{**QUICK, **config[name]})
    assert alone.decision == ()
    assert alone.history.column("accuracy") == permuted.history.column("accuracy")


def test_where_clients_agree_one_model_is_run() -> None:
    run = shoal.run("auto", "digits", partition="iid:clients=20", **{**QUICK, "rounds": 40})
    assert type(run.plan.algorithm).__name__ == "FedAvg"
    assert "one model served them as well as any other" in run.decision[2]


def test_trials_are_short_and_see_no_test_sample() -> None:
    found, told = tried(partition="permuted:4", rounds=30)
    assert found.rounds == 15
    assert told == [f"auto tries {name}, 15 rounds" for name in ("fedavg", "flexcfl", "wecfl", "local")]
    fed = prepare("fedavg", "digits", None, {"partition": "permuted:4"}).plan.federation
    assert isinstance(fed, Federation)
    assert found.samples == fed.train.sizes.sum()
    assert sum(found.trials[0].total_N) == sum(int(0.2 * n) for n in fed.train.sizes)
    assert [tried(rounds=n, partition="iid:clients=2")[0].rounds for n in (4, 12)] == [4, 10]


def test_with_drift_trials_are_as_long_as_the_run_and_ifca_takes_part() -> None:
    found, _ = tried(partition="permuted:4", drift="swap-all:0.05", rounds=12)
    assert (found.rounds, found.drift) == (12, "swap-all:0.05")
    assert [t.algorithm for t in found.trials] == ["fedavg", "flexcfl", "ifca", "local"]


def test_who_leaves_clients_without_a_model_is_out() -> None:
    found, _ = tried(partition="permuted:4", clients_per_round=2, rounds=3)
    problems = {t.algorithm: t.problem for t in found.trials}
    assert found.asked == 2
    assert "wecfl" not in problems
    assert problems["flexcfl"] == ""
    assert "of 20 clients only" in problems["local"]


def test_what_cannot_be_tried_is_left_out_with_its_reason() -> None:
    found, _ = tried(partition="iid:clients=5", aggregate="median", rounds=2)
    assert found.groups == 0
    assert [bool(t.problem) for t in found.trials] == [False, True, True]
    assert found.trials[1].problem == "aggregate=median is not possible: flexcfl aggregates in a way of its own"


def test_the_users_validation_samples_are_taken(toy: Federation) -> None:
    held = toy.with_validation(0.5, Key(1))
    found = evidence_of(resolve("auto", held, small_net, {"rounds": 1}), Serial(), lambda _: None)
    assert held.val is not None
    assert sum(found.trials[0].total_N) == held.val.sizes.sum()
    run = shoal.run("auto", toy, small_net, rounds=1, val=0.5, engine="serial")
    assert run.history[-1]["val_accuracy"] is not None


def test_what_is_refused(tmp_path: Path) -> None:
    def make(client: str) -> Any:
        return lambda split: (np.zeros((3, 2)), np.array([0, 1, 0]))

    produced = OnDemand("tiny", ("1", "2"), np.array([3, 3]), classes=2, make=make, shape=(2,))
    few = Federation.from_arrays({c: (np.eye(4), [0, 1, 0, 1]) for c in "ab"}, test=0)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (produced, {}, "produced on demand"),
        (few, {}, "no client has five"),
        ("digits", {"rounds": 0}, "give rounds=1 or more"),
        ("digits", {"groups": 4}, "so groups goes with a method: fedgroup"),
        ("digits", {"grups": 4}, "unknown key 'grups'"),
    ]
    for source, pairs, words in cases:
        with pytest.raises(shoal.ShoalError, match=words):
            shoal.run("auto", source, engine="serial", **pairs)
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(shoal.ShoalError, match="already holds a run"):
        shoal.run("auto", "digits", out=tmp_path, engine="serial")
    with pytest.raises(shoal.ShoalError, match="a choice among them"):
        prepare("auto", "digits", None, {})


def test_each_seed_of_a_sweep_decides_for_itself(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"rounds": 2, "partition": "iid:clients=4", "seed": [0, 1], "engine": "serial"}
    paths = shoal.sweep(["auto", "fedavg"], out=tmp_path / "s", **keys)
    assert [p.name for p in paths] == ["auto-seed=0", "auto-seed=1", "fedavg-seed=0", "fedavg-seed=1"]
    assert [len(Folder(p).notes()) for p in paths] == [5, 5, 0, 0]
    assert [(line.name, len(line.runs)) for line in shoal.compare(tmp_path / "s")] == [("auto", 2), ("fedavg", 2)]
    assert continue_sweep(tmp_path / "s") == paths


def test_eval_clients_says_who_is_tested_and_not_who_decides() -> None:
    keys = {"rounds": 1, "partition": "dirichlet:0.05:clients=100", "seed": 3, "eval_clients": 1}
    found = evidence_of(resolve("auto", "digits", None, keys), Serial(), lambda text: None)
    assert len(found.trials[0].total_N) == 59  # who has five samples or more


def test_a_client_that_one_method_cannot_serve_counts_for_none() -> None:
    some = [Trial("fedavg", {}, (1, 2, 0), (3, 3, 0)), Trial("local", {}, (0, 3, 0), (0, 3, 0))]
    one, own, out = on_the_same_clients([*some, Trial("x", {}, problem="y")])
    assert (one.right_N, one.total_N, own.right_N, out.problem) == ([2], [3], [3], "y")
    (nobody,) = on_the_same_clients([Trial("fedavg", {}, (0,), (0,))])
    assert nobody.problem == "no client has a sample set aside"
