"""Pictures of how alike clients are, and what else the records say of groups."""

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
from shoal.loop import record, similarity
from shoal.loop.similarity import blocks, group_cosines, unpack
from shoal.measures import cosine
from shoal.store.folder import Folder
from shoal.types import Representation


def run(name: str, toy: Federation, **settings: Any) -> shoal.Run:
    common: dict[str, Any] = {"rounds": 6, "lr": 0.05, "selection": "all", "engine": Serial()}
    return shoal.run(name, toy, small_net, **{**common, **settings})


def pictures(got: shoal.Run) -> dict[int, Any]:
    return {r["round"]: r["likeness"] for r in got.history if "likeness" in r}


def test_a_picture_of_the_first_rounds_at_powers_of_two_and_when_groups_change(toy: Federation) -> None:
    assert list(pictures(run("fedavg", toy, rounds=9))) == [1, 2, 3, 4, 5, 8]
    assert list(pictures(run("cfl", toy, split_rounds="6", rounds=7))) == [1, 2, 3, 4, 5, 6]
    assert next(iter(pictures(run("fedgroup", toy, groups=2)))) == 0


def watched(method: type[Any]) -> tuple[type[Any], list[Representation]]:
    """The method, and a list into which every step puts what it compared."""
    seen: list[Representation] = []

    class Watching(method):  # type: ignore[misc]
        def step(self, state: Any, engine: Any, key: Any) -> Any:
            state, record = super().step(state, engine, key)
            assert record.representation is not None
            seen.append(record.representation)
            return state, record

    return Watching, seen


def test_pairs_are_the_similarity_of_what_was_compared(toy: Federation) -> None:
    watching, seen = watched(shoal.CFL)
    [picture] = pictures(shoal.run(watching(), toy, small_net, rounds=1, engine=Serial())).values()
    want = cosine(seen[0].rows_ND)
    np.testing.assert_allclose(unpack(picture["pairs"], 12, 1.0), want, atol=0.005 + 1e-9)
    assert (picture["what"], picture["ids"], picture["group"]) == ("updates", list(toy.ids), [0] * 12)
    assert toy.truth is not None
    assert picture["truth"] == toy.truth.tolist()


def test_distances_of_local_models_are_between_where_clients_ended() -> None:
    seen = Representation(
        "x", "euclidean", ("a", "b"), np.ones((2, 2)), np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([1, 0])
    )
    [block] = blocks(seen, np.arange(2))
    assert block.tolist() == [[4.0, 5.0], [1.0, 1.0]]


def test_cosines_inside_groups_and_among_them(toy: Federation) -> None:
    """Against the local models themselves, which are far from zero: the mean of all is taken off and put on again."""
    watching, seen = watched(shoal.WeCFL)
    [picture] = pictures(shoal.run(watching(groups=3), toy, small_net, rounds=1, engine=Serial())).values()
    rows, group = seen[0].rows_ND.astype(float), np.array(picture["group"])
    means = np.array([rows[group == k].mean(0) for k in range(3)])
    units, directions = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (rows, means))
    within = (units * directions[group]).sum(1)
    between = (directions @ directions.T)[np.triu_indices(3, 1)]
    for name, want in (("within", within), ("between", between)):
        np.testing.assert_allclose(picture[f"cosines_{name}"], [want.min(), want.mean(), want.max()], atol=1e-5)


def test_cosines_leave_out_who_has_no_group_or_no_direction() -> None:
    rows = np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0], [5.0, 5.0]])
    found = group_cosines(rows @ rows.T, np.array([0, 0, 0, -1]))  # the mean is (2, 2) / 3, the third is zero
    assert found == {"cosines_within": [round(0.5**0.5, 6)] * 3}
    assert group_cosines(rows @ rows.T, np.array([-1] * 4)) == {}


def test_large_cohorts_are_sampled(toy: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "MAX_CLIENTS", 5)
    monkeypatch.setattr(record, "MAX_MEMBERS", 6)
    got = run("wecfl", toy, groups=2)
    shown = {tuple(p["ids"]) for p in pictures(got).values()}
    assert [len(ids) for ids in shown] == [5]
    assert pictures(got)[1]["of"] == 12
    assert len({tuple(r["members"]["ids"]) for r in got.history}) == 1
    assert all(len(r["members"]["ids"]) == 6 for r in got.history)


def test_groups_and_labels_add_up_and_are_written_once(toy: Federation, tmp_path: Path) -> None:
    got = run("fedgroup", toy, groups=2, out=tmp_path / "r")
    for r in got.history:
        sizes = [r["members"]["group"].count(k) for k in range(2)]
        assert sizes == r["group_size"]
    last = got.history[-1]
    assert np.sum(last["labels"]["samples"]) == sum(last["clients"]["total"])
    weights = [sum(s) for s in last["labels"]["samples"]]
    assert np.average(last["group_loss"], weights=weights) == pytest.approx(last["test_loss"])
    lines = [json.loads(line) for line in (tmp_path / "r" / "records.jsonl").read_text().splitlines()]
    assert [set(line["members"]) for line in lines[1:]] == [set()] * 6
    assert list(Folder(tmp_path / "r").history()) == list(got.history)
