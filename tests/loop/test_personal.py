"""A model with a personal part is tested, asked and saved with that part."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from tests.conftest import small_net
from tests.loop.personal_head import HEAD, PersonalHead, State
from torch import nn

import shoal
from shoal import SGD, All, Random, table
from shoal.backends import Serial, Workers
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.loop.record import evaluation_part, training_part
from shoal.seeds import Key
from shoal.table import Personal, Serving, Table
from shoal.types import Answers, Array, Record

METHOD = PersonalHead(select=All(), solver=SGD(lr=0.1, epochs=3))


def played(toy: Federation, method: PersonalHead = METHOD, **more: object) -> shoal.Run:
    return shoal.run(method, toy, small_net, rounds=6, seed=1, **{"engine": Serial(), **more})  # type: ignore[arg-type]


def by_hand(run: shoal.Run, client: str, with_head: bool = True) -> nn.Module:
    """The client's module: the shared one, its head overwritten."""
    state: State = run.state
    module = run.plan.layout.module(state.w_KP[0])
    if with_head and client in state.heads:
        row = torch.from_numpy(state.heads.get((client,), 0.0)[0])
        head: Any = module.head[1]  # type: ignore[index]
        with torch.no_grad():
            head.weight.copy_(row[:24].reshape(3, 8))
            head.bias.copy_(row[24:])
    return module.eval()


def right(run: shoal.Run, with_head: bool) -> dict[str, int]:
    found = {}
    for client in run.clients:
        x, y = run.plan.federation.client(client)("test")
        guess = by_hand(run, client, with_head)(torch.from_numpy(x)).argmax(1).numpy()
        found[client] = int((guess == y).sum())
    return found


def test_the_loop_tests_every_client_with_its_head(toy: Federation) -> None:
    run = played(toy)
    row = run.history[-1]
    told = dict(zip(row["clients"]["ids"], row["clients"]["right"], strict=True))
    assert told == right(run, with_head=True)
    assert told != right(run, with_head=False)
    # The two planted groups name the classes differently: one model can be right about half of the time, heads more.
    assert row["accuracy"] > 0.7
    assert not row["partial"]
    assert row["groups"] == 1


def test_who_has_not_trained_yet_is_served_by_the_shared_model(toy: Federation) -> None:
    run = played(toy, PersonalHead(select=Random(1), solver=SGD(lr=0.1)))
    state: State = run.state
    assert 0 < len(state.heads) < 12
    row = run.history[-1]
    assert not row["partial"]
    assert dict(zip(row["clients"]["ids"], row["clients"]["right"], strict=True)) == right(run, with_head=True)


def test_predictions_are_those_of_the_client(toy: Federation) -> None:
    run = played(toy)
    differ = 0
    for client in run.clients:
        x, _ = toy.client(client)("test")
        scores = by_hand(run, client)(torch.from_numpy(x))
        assert run.predict(client, x).tolist() == scores.argmax(1).tolist()
        differ += scores.argmax(1).tolist() != by_hand(run, client, False)(torch.from_numpy(x)).argmax(1).tolist()
    assert differ > 3


def test_files_hold_the_shared_model_and_the_heads_by_name(toy: Federation, tmp_path: Path) -> None:
    run = played(toy, out=tmp_path / "run")
    folder = tmp_path / "run" / "models"
    assert sorted(p.name for p in folder.iterdir()) == ["group_0.safetensors", "personal.safetensors"]
    with safe_open(folder / "personal.safetensors", "pt") as file:
        ids = json.loads(file.metadata()["ids"])
        heads = {name: file.get_tensor(name) for name in HEAD}
    assert (tuple(ids), {name: tuple(t.shape) for name, t in heads.items()}) == (
        run.clients, {"head.1.weight": (12, 3, 8), "head.1.bias": (12, 3)}
    )  # fmt: skip
    x, _ = toy.client("c05")("test")
    module = small_net()
    own = {name: rows[ids.index("c05")] for name, rows in heads.items()}
    module.load_state_dict(load_file(folder / "group_0.safetensors") | own)
    assert module.eval()(torch.from_numpy(x)).argmax(1).tolist() == run.predict("c05", x).tolist()


def test_it_resumes_and_works_on_workers_to_the_same_bits(toy: Federation, tmp_path: Path, pool: Workers) -> None:
    whole = played(toy)
    shoal.run(METHOD, toy, small_net, rounds=3, seed=1, engine=pool, out=tmp_path / "run")
    again = shoal.resume(tmp_path / "run", algorithm=METHOD, federation=toy, model=small_net, engine=pool, rounds=6)
    assert again.state.w_KP.tobytes() == whole.state.w_KP.tobytes()
    assert again.state.heads.rows.tobytes() == whole.state.heads.rows.tobytes()
    rows = [[{**r, "time": 0} for r in run.history] for run in (whole, again)]
    assert rows[0] == rows[1]


def test_a_few_at_a_time_gives_the_same_figures(toy: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = played(toy)
    monkeypatch.setattr(table, "TOGETHER", 5 * whole.plan.layout.bytes)
    portions = list(whole.serving.portions(whole.clients, whole.plan.layout))
    assert [len(p.cohort) for p in portions] == [5, 5, 2]
    assert [p.models_KP.shape for p in portions] == [(5, 116), (5, 116), (2, 116)]  # 56 + 16 + 27 trainable, 16 + 1 not
    cut = played(toy)
    timeless = [[{**r, "time": 0} for r in run.history] for run in (whole, cut)]
    assert timeless[0] == timeless[1]


def test_groups_with_personal_parts_are_told_apart_by_group(toy: Federation) -> None:
    # Group figures go by the client's group, not by the place of its assembled model.
    run = played(toy)
    groups = Table(toy.ids, np.arange(12) % 2)
    serving = Serving(np.repeat(run.state.w_KP, 2, 0), groups, personal=Personal(HEAD, run.state.heads))
    engine = Engine(Serial(), run.plan.layout)
    engine.set_federation(toy)
    row = evaluation_part(serving, engine, toy.ids, Key(0), ("test",))
    told = row["clients"]
    for k in (0, 1):
        pairs = [
            (r, n) for c, r, n in zip(told["ids"], told["right"], told["total"], strict=True) if int(c[1:]) % 2 == k
        ]
        assert row["group_accuracy"][k] == pytest.approx(sum(r for r, _ in pairs) / sum(n for _, n in pairs))


def test_discrepancy_is_measured_to_the_model_with_the_head() -> None:
    # Two numbers, the second of them personal. The client got (0, 0) and found (3, 4); it is served (3, 0) with the
    # head 8, which lies as far away as (7, 4) does.
    layout = Layout.of(lambda: nn.Linear(1, 1), np.zeros((1, 1)), "float64")
    fields = {"update": np.array([[3.0, 4.0]]), "count": np.array([1]), "loss": np.array([0.5])}
    got = Record(trained=Answers(("ann",), np.zeros(1, int), fields, (), np.zeros((1, 2))))
    head = Personal(("bias",), Table(("ann",), np.array([[8.0]])))
    served = Serving(np.array([[3.0, 0.0]]), kind="one", personal=head)
    others = [Serving(np.array([row]), kind="one") for row in ([3.0, 8.0], [7.0, 4.0], [3.0, 0.0])]
    found, same, alike, bare = (training_part(got, s, layout)["discrepancy"] for s in (served, *others))
    assert found == same == pytest.approx(alike)
    assert found > 0
    assert bare == pytest.approx(found)  # 4 to the other side
    near = replace(served, personal=Personal(("bias",), Table(("ann",), np.array([[4.0]]))))
    assert training_part(got, near, layout)["discrepancy"] == 0


def test_who_answers_for_whom() -> None:
    layout = Layout.of(lambda: nn.Linear(1, 1), np.zeros((1, 1)), "float64")
    models: Array = np.array([[1.0, 2.0], [3.0, 4.0]])
    grouped = Serving(models, Table(("ann",), np.array([1])))
    assert grouped.models_for("ann", layout).tolist() == [[3.0, 4.0]]
    assert grouped.models_for("zoe", layout).shape == (0, 2)
    assert Serving(models, kind="vote").models_for("zoe", layout).tolist() == models.tolist()
    [portion] = Serving(models, kind="vote").portions(("zoe",), layout)
    assert portion.which_N is None
    personal = Personal(("bias",), Table(("ann",), np.array([[9.0]])))
    own = Serving(models, Table(("ann", "bob"), np.array([1, 0])), personal=personal)
    assert [row.tolist() for row in own.each(("ann", "bob"), layout)] == [[3.0, 9.0], [1.0, 2.0]]
    [empty] = own.portions((), layout)
    assert (empty.cohort, empty.models_KP.shape) == ((), (0, 2))
    assert models.tolist() == [[1.0, 2.0], [3.0, 4.0]]
