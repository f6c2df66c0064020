"""Tasks of every kind: their figures are scikit-learn's on pooled predictions, by client, group and federation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score, root_mean_squared_error
from torch import nn

import shoal
from shoal.metrics import Metric
from shoal.metrics.ranking import BINS, REACH
from shoal.types import Array

QUIET: dict[str, Any] = {"engine": "serial", "rounds": 6, "lr": 0.1}


def numbers(outputs: int = 0, clients: int = 12, n: int = 60) -> shoal.Federation:
    """Two planted populations with opposite weights; without outputs a number per sample, else a vector."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=(5, outputs or 1))
    data = {}
    for i in range(clients):
        x = rng.normal(size=(n, 5)).astype(np.float32)
        y = (x @ (w if i % 2 else -w) + 0.1 * rng.normal(size=(n, outputs or 1))).astype(np.float32)
        data[f"{i:02}"] = x, y if outputs else y[:, 0]
    return shoal.Federation.from_arrays(data, test=0.3)


def patients(clients: int = 10, n: int = 120) -> shoal.Federation:
    """9 % are ill; in one half of the clients a finding means the opposite."""
    rng = np.random.default_rng(1)
    data = {}
    for i in range(clients):
        y = (rng.random(n) < 0.09).astype(np.int64)
        x = rng.normal(size=(n, 4)).astype(np.float32)
        x[:, 0] += 2 * y * (1 if i % 2 else -1)
        data[f"{i:02}"] = x, y
    return shoal.Federation.from_arrays(data, test=0.4)


def tags_of_songs(clients: int = 6, n: int = 60) -> shoal.Federation:
    rng = np.random.default_rng(2)
    data = {}
    for i in range(clients):
        x = rng.normal(size=(n, 4)).astype(np.float32)
        data[f"{i:02}"] = x, (x[:, :3] + 0.3 * rng.normal(size=(n, 3)) > 0.5).astype(np.int64)
    return shoal.Federation.from_arrays(data, test=0.3)


def sentences(clients: int = 6, n: int = 24) -> shoal.Federation:
    """Every word's tag is its number modulo 3; words 0 fill up sequences and do not count."""
    rng = np.random.default_rng(3)
    data = {}
    for i in range(clients):
        x = rng.integers(1, 9, (n, 5))
        x[np.arange(5) >= rng.integers(2, 6, n)[:, None]] = 0
        data[f"{i:02}"] = x, np.where(x > 0, x % 3, -100)
    return shoal.Federation.from_arrays(data, test=0.3)


def tagger() -> nn.Module:
    return nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 3))


def within_two(said: Array, y: Array) -> dict[str, Any]:
    return {"near": (np.abs(said - y) < 0.2).sum()}


NEAR = Metric("near", within_two, lambda s: float(s["near"] / s["total"]), percent=True)


def predictions(run: shoal.Run, federation: shoal.Federation, client: str) -> tuple[Array, Array]:
    x, y = federation.client(client)("test")
    probable = run.plan.layout.objective.targets != "floats"
    return (run.predict_proba if probable else run.predict)(client, x), y


def bin_error(y: Array, p: Array) -> float:
    """Half of the share of pairs of a positive and a negative sample in one bin."""
    odds = np.clip(np.log(p) - np.log1p(-p), -REACH, REACH)
    bins = np.minimum((odds + REACH) * BINS / (2 * REACH), BINS - 1).astype(int)
    hits, misses = (np.bincount(bins[y == k], minlength=BINS + 1) for k in (1, 0))
    apart = np.abs(np.subtract.outer(np.arange(3), 1)).max()  # p is rounded: a score may stand one bin further
    near = sum((hits * np.roll(misses, shift)).sum() for shift in range(-apart, apart + 1))
    return float(near / 2 / max((y == 1).sum() * (y == 0).sum(), 1))


def test_a_regression_in_fifteen_lines_finds_its_populations() -> None:
    rng = np.random.default_rng(0)
    data, truth = {}, {}
    for i in range(20):
        x = rng.normal(size=(50, 3))
        truth[f"{i:02}"] = i % 2
        data[f"{i:02}"] = (x, x @ ([1.0, 2.0, -1.0] if i % 2 else [-1.0, 0.5, 2.0]) + 0.1 * rng.normal(size=50))
    federation = shoal.Federation.from_arrays(data)
    for method in ("ifca", "wecfl"):
        run = shoal.run(method, federation, task="regression", groups=2, rounds=15, lr=0.1, metrics="r2")
        same = [run.groups[a] == run.groups[b] for a in data for b in data]
        assert same == [truth[a] == truth[b] for a in data for b in data]  # an adjusted Rand index of 1
        assert run.summary["best_rmse"] < 0.2 and run.history[-1]["r2"] > 0.98


def test_methods_that_compare_labels_say_so_and_newcomers_come_with_numbers() -> None:
    federation = numbers()
    for method, sentence in (("flexcfl", "give migration=off"), ("fedgsp", "give grouping=random")):
        with pytest.raises(shoal.ShoalError, match=f"compares label histograms, .* task=regression .*; {sentence}"):
            shoal.run(method, federation, task="regression", **QUIET)
    run = shoal.run("flexcfl", federation, task="regression", migration="off", groups=2, **QUIET)
    x, y = federation.client("00")("train")
    assert run.assign(x, y).group == run.groups["00"] != run.groups["01"]
    with pytest.raises(shoal.ShoalError, match="the targets of the newcomer are whole numbers"):
        run.assign(x, np.abs(y).astype(int))


def test_targets_that_do_not_fit_the_task_are_said_in_one_sentence() -> None:
    for federation, task, sentence in (
        (numbers(), "classification", r"are floats, .*\(y.astype\(int\).*\), or task=regression"),
        (patients(), "regression", r"are whole numbers, .*\(y.astype\(float\)"),
        (tags_of_songs(), "classification", "task=multilabel or task=tokens"),
        (sentences(), "multilabel", "learns labels, 0 or 1"),
        (patients(), "tokens", "a class for every place of a sequence"),
    ):
        with pytest.raises(shoal.ShoalError, match=sentence):
            shoal.run("fedavg", federation, task=task, rounds=1)
    with pytest.raises(shoal.ShoalError, match="the metric rmse is for floats; task=classification has classes"):
        shoal.run("fedavg", patients(), metrics="rmse", rounds=1)


def test_rmse_and_an_own_metric_are_those_of_pooled_predictions() -> None:
    federation = numbers()
    run = shoal.run("ifca", federation, task="regression", groups=2, metrics=[NEAR], **QUIET)
    row, each = run.history[-1], {c: predictions(run, federation, c) for c in federation.ids}

    def figures(clients: list[str]) -> tuple[float, float]:
        said, y = (np.concatenate([each[c][i] for c in clients]) for i in (0, 1))
        return root_mean_squared_error(y, said), float((np.abs(said - y) < 0.2).mean())

    assert (row["rmse"], row["near"]) == pytest.approx(figures(list(federation.ids)), rel=1e-5)
    for i, client in enumerate(row["clients"]["ids"]):
        assert (row["clients"]["rmse"][i], row["clients"]["near"][i]) == pytest.approx(figures([client]), rel=1e-5)
    for k in range(2):
        members = [c for c in federation.ids if run.groups[c] == k]
        assert (row["group_rmse"][k], row["group_near"][k]) == pytest.approx(figures(members), rel=1e-5)
    worst = sorted(federation.ids, key=lambda c: -figures([c])[0])[:2]  # a tenth of 12, rounded up
    assert row["worst"] == pytest.approx(figures(worst)[0], rel=1e-5)
    assert run.summary["best_rmse"] == min(r["rmse"] for r in run.history if "rmse" in r)


def test_auc_of_rare_patients_is_that_of_pooled_predictions() -> None:
    federation = patients()
    run = shoal.run(
        "ifca", federation, task="binary", score="auc", class_weights="balanced", groups=2, val=0.1, **QUIET
    )
    row, each = run.history[-1], {c: predictions(run, federation, c) for c in federation.ids}
    assert run.plan.arithmetic.kernel == "torch" and run.plan.score.name == "auc"

    def check(clients: list[str], found: float | None) -> None:
        p, y = (np.concatenate([each[c][i] for c in clients]) for i in (0, 1))
        if len(set(y.tolist())) < 2:
            assert found is None
        else:
            assert abs(float(found or 0) - roc_auc_score(y, p[:, 1])) <= bin_error(y, p[:, 1]) + 1e-9

    check(list(federation.ids), row["auc"])
    for client, value in zip(row["clients"]["ids"], row["clients"]["auc"], strict=True):
        check([client], value)
    for k in range(2):
        check([c for c in federation.ids if run.groups[c] == k], row["group_auc"][k])
    p, y = (np.concatenate([each[c][i] for c in federation.ids]) for i in (0, 1))
    assert row["average_precision"] == pytest.approx(average_precision_score(y, p[:, 1]), abs=0.02)
    assert row["auc"] > 0.85 and row["val_auc"] is not None and "auc_at_best_val" in run.summary


def test_class_weights_change_what_is_learned_and_are_told_by_hand() -> None:
    # 4 clients of 10 samples, 36 of class 0 and 4 of class 1: 40 / (2 36) and 40 / (2 4).
    data = {c: (np.random.default_rng(0).normal(size=(10, 2)), [0] * 9 + [1]) for c in "abcd"}
    federation = shoal.Federation.from_arrays(data, test=0)
    run = shoal.run("fedavg", federation, class_weights="balanced", rounds=1, engine="serial")
    assert run.plan.layout.objective.weights == pytest.approx((40 / 72, 5.0))
    assert shoal.run("fedavg", federation, class_weights=[1, 10], rounds=1).plan.layout.objective.weights == (1, 10)
    for wrong in ("1,2,3", "1,nan", "1,inf", "1,-1"):
        with pytest.raises(shoal.ShoalError, match="give 2 numbers from 0 on"):
            shoal.run("fedavg", federation, class_weights=wrong, rounds=1)


def test_labels_are_learned_and_measured() -> None:
    federation = tags_of_songs()
    run = shoal.run("fedavg", federation, task="multilabel", **{**QUIET, "lr": 1.0})
    row, each = run.history[-1], [predictions(run, federation, c) for c in federation.ids]
    p, y = (np.concatenate([pair[i] for pair in each]) for i in (0, 1))
    assert p.shape[1:] == (3,) and set(run.predict("00", federation.x[:5]).ravel().tolist()) <= {0, 1}
    assert row["auc"] == pytest.approx(roc_auc_score(y, p), abs=2e-3) and row["auc"] > 0.9
    assert row["accuracy"] == pytest.approx(((p > 0.5) == y).mean()) and "f1" not in row


def test_tokens_that_do_not_count_are_left_out_of_loss_and_accuracy() -> None:
    federation = sentences()
    run = shoal.run("fedavg", federation, tagger, task="tokens", **{**QUIET, "lr": 1.0})
    row = run.history[-1]
    counted = {c: (federation.client(c)("test")[1] != -100).sum() for c in federation.ids}
    assert row["clients"]["total"] == [counted[c] for c in row["clients"]["ids"]]
    right, losses = 0, []
    for client in federation.ids:
        x, y = federation.client(client)("test")
        right += int((run.predict(client, x) == y)[y != -100].sum())
        with torch.no_grad():
            scores = run.models[0](torch.from_numpy(x))
        losses.append(nn.functional.cross_entropy(scores.transpose(1, 2), torch.from_numpy(y), reduction="sum"))
    assert row["accuracy"] == right / sum(counted.values()) and row["accuracy"] > 0.9
    assert row["test_loss"] == pytest.approx(float(sum(losses)) / float(sum(counted.values())), rel=1e-5)


def absolute(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (outputs[:, 0] - y).abs()


def test_a_loss_per_sample_and_its_mean_are_one_task() -> None:
    federation, found = numbers(), []
    for loss in (absolute, lambda out, y: absolute(out, y).mean()):
        task = shoal.Objective(loss=loss, metrics=("mae",))
        run = shoal.run("fedavg", federation, task=task, **QUIET)
        found.append(run.history[-1])
        assert run.plan.score.name == "mae" and run.history[-1]["test_loss"] == pytest.approx(run.history[-1]["mae"])
    assert found[0]["mae"] == found[1]["mae"] and found[0]["test_loss"] == pytest.approx(found[1]["test_loss"])


TASKS: dict[str, tuple[Callable[[], shoal.Federation], Any, dict[str, Any]]] = {
    "binary": (patients, "mclr", {"class_weights": "balanced"}),
    "multilabel": (tags_of_songs, "mlp:hidden=8", {}),
    "regression": (numbers, "mlp:hidden=8", {}),
    "vectors": (lambda: numbers(2), "mclr", {"task": "regression"}),
    "tokens": (sentences, tagger, {}),
    "classification": (patients, "mclr", {"metrics": "auc,ece,macro_f1", "score": "auc"}),
    "own": (numbers, "mclr", {"task": shoal.Objective(loss=absolute, metrics=(NEAR,))}),
}


@pytest.mark.parametrize("name", TASKS)
def test_one_process_and_two_give_the_same_bits_and_so_does_a_run_that_goes_on(name: str, tmp_path: Path) -> None:
    made, model, more = TASKS[name]
    federation, settings = made(), {"task": name, "rounds": 4, "lr": 0.1, **more}
    serial = shoal.run("ifca", federation, model, groups=2, engine="serial", **settings)
    local = shoal.run("ifca", federation, model, groups=2, engine="local", workers=2, **settings)
    begun = {**settings, "rounds": 2, "checkpoint_every": 1}
    shoal.run("ifca", federation, model, groups=2, engine="serial", out=tmp_path / "run", **begun)
    given: dict[str, Any] = {"federation": federation} | ({} if isinstance(model, str) else {"model": model})
    given |= {"task": settings["task"]} if name == "own" else {}
    again = shoal.resume(tmp_path / "run", rounds=4, **given)
    for other in (local, again):
        np.testing.assert_array_equal(other.serving.models_KP, serial.serving.models_KP)
        for ours, theirs in zip(serial.history, other.history, strict=True):
            assert {k: v for k, v in ours.items() if k != "time"} == {k: v for k, v in theirs.items() if k != "time"}
    assert again.history.score == serial.plan.score


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = tagger()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers(input_ids)
        return found


def test_tokens_of_sequences_of_different_lengths_are_those_of_padded_ones() -> None:
    """A batch is as long as its longest sequence, and targets are as long as the longest of all."""
    data = {c: sentences().client(c)("train") for c in sentences().ids}
    ragged = {c: ([row[row > 0] for row in x], y) for c, (x, y) in data.items()}
    collate = shoal.data.Pad(mask=None)
    loose = shoal.run("fedavg", shoal.Federation.from_arrays(ragged, collate=collate), Tagger, task="tokens", **QUIET)
    named = {c: ({"input_ids": x}, y) for c, (x, y) in data.items()}
    padded = shoal.run("fedavg", shoal.Federation.from_arrays(named), Tagger, task="tokens", **QUIET)
    np.testing.assert_allclose(loose.serving.models_KP, padded.serving.models_KP, rtol=1e-4, atol=1e-6)
    assert loose.summary["last_accuracy"] == pytest.approx(padded.summary["last_accuracy"])
    short = {c: ([row[row > 0][:1] for row in x], y) for c, (x, y) in data.items()}
    with pytest.raises(shoal.ShoalError, match="a target counts beyond place 1, up to which the model says something"):
        shoal.run("fedavg", shoal.Federation.from_arrays(short, collate=collate), Tagger, task="tokens", **QUIET)
