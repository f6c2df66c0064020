"""Turns what a round left into the record that is written: evaluation, groups, traffic, events."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal import metrics
from shoal.data.federation import Source
from shoal.engine import Engine, Ledger
from shoal.layout import Layout
from shoal.loop.row import Row, to_json
from shoal.seeds import Key, hash_ids
from shoal.table import Serving
from shoal.tasks import Evaluate
from shoal.types import Answers, Array, Cohort, Record

MAX_MEMBERS = 1_000  # clients whose group is recorded


def training_part(record: Record, serving: Serving, layout: Layout) -> Row:
    """Training loss, discrepancy and who took part."""
    got = record.trained
    if got is None:
        return {}
    return {
        "trained": len(got),
        "loss": to_json(metrics.training_loss(got["loss"], got["count"])),
        "discrepancy": to_json(discrepancy_of(got, serving, layout)),
    }


def discrepancy_of(got: Answers, serving: Serving, layout: Layout) -> float:
    """How far the solutions of this round lie from the models that serve the same clients after it."""
    sent_KP, at = got.models_KP, layout.trainable
    if "update" not in got.fields or sent_KP is None or (serving.which(got.cohort) < 0).any():
        return math.nan
    members = (serving.models_KP[k] for k in got.which_N)  # of a vote, each by itself
    after = members if serving.votes else serving.each(got.cohort, layout)
    return metrics.discrepancy(
        (sent_KP[a][at] + update_P[at] for a, update_P in zip(got.which_N, got["update"], strict=True)),
        (model_P[at] for model_P in after),
    )


def group_part(serving: Serving, federation: Source, seed: int) -> Row:
    """Who is in which group (-1: in none yet) and, where the truth is planted, how well groups agree with it."""
    if not serving.is_grouped:
        return {"groups": len(serving.models_KP) if serving.is_own else 1}
    which_N = serving.which(federation.ids)
    known = which_N >= 0
    sizes_K = np.bincount(which_N[known], minlength=len(serving.models_KP))
    row: Row = {"groups": int((sizes_K > 0).sum()), "group_size": sizes_K.tolist()}
    some = sample_places(federation.ids, MAX_MEMBERS, seed)
    row["members"] = {"ids": [federation.ids[i] for i in some], "group": which_N[some].tolist()}
    if federation.truth is not None:
        row["members"]["truth"] = federation.truth[some].tolist()
    if federation.truth is not None and known.any():
        row["ari"] = to_json(metrics.adjusted_rand(federation.truth[known], which_N[known]))
        row["nmi"] = to_json(metrics.mutual_information(federation.truth[known], which_N[known]))
    return row


def evaluation_part(
    serving: Serving, engine: Engine, who: Cohort, key: Key, splits: tuple[str, ...], per_class: bool = True
) -> Row:
    """The figures of the run's task, its worst clients and loss on the test split, figures and loss on the validation
    split.
    """
    tested, layout = serving.served(who), engine.layout
    row: Row = {"partial": len(tested) < len(who)}
    for split in splits:
        task, portions = Evaluate.of(layout, split, serving.votes, per_class), serving.portions(tested, layout)
        got = joined([engine.ask(task, *portion, key("evaluate")) for portion in portions])
        row["partial"] |= len(got) < len(who)
        row.update(test_figures(got, serving, layout) if split == "test" else val_figures(got, layout))
    if row["partial"]:
        row |= {"tested": len(row["clients"]["ids"]), "tested_of": len(who)}
    for name, model_P in serving.auxiliary_models.items():
        task = Evaluate.of(layout, "test", False, per_class)
        got = engine.ask(task, who, model_P[None], np.zeros(len(who), int), key("evaluate"))
        headline = layout.objective.headline_metric
        row[f"{headline.name}_{name}"] = to_json(
            metrics.value_of(headline, metrics.pooled(sums_by_client(got, layout)))
        )
    return row


def joined(portions: Sequence[Answers]) -> Answers:
    """The answers of several calls, one after the other, as those of one.

    >>> one, two = (Answers((name,), np.zeros(1, int), {"right": np.array([7])}) for name in "ab")
    >>> joined([one, two]).cohort, joined([one, two])["right"].tolist()
    (('a', 'b'), [7, 7])
    """
    if len(portions) == 1:
        return portions[0]
    fields = {name: np.concatenate([got[name] for got in portions]) for name in portions[0].fields}
    cohort, failed = tuple(c for got in portions for c in got.cohort), tuple(f for got in portions for f in got.failed)
    return Answers(cohort, np.concatenate([got.which_N for got in portions]), fields, failed)


def test_figures(got: Answers, serving: Serving, layout: Layout) -> Row:
    """What a test showed: counts of classes where there are any, then the metrics of the task."""
    total_N = got["total"]
    which_N = serving.which(got.cohort) if serving.is_grouped else None
    pick = [] if which_N is None else [which_N == k for k in range(len(serving.models_KP))]
    row = class_figures(got, pick) if layout.objective.decides else {}
    row["test_loss"] = to_json(mean_loss(got["loss"], total_N))
    right = {"right": got["right"].tolist()} if layout.objective.decides else {}
    row["clients"] = {"ids": list(got.cohort), **right, "total": total_N.tolist()}
    if pick:
        row["group_loss"] = [to_json(mean_loss(got["loss"][p], total_N[p])) for p in pick]
    for metric in layout.objective.reported:
        sums_N = sums_by_client(got, layout)
        value_N = metrics.by_client(metric, sums_N)
        row[metric.name] = to_json(metrics.value_of(metric, metrics.pooled(sums_N)))
        row["clients"][metric.name] = [to_json(value) for value in value_N]
        if pick:
            row[f"group_{metric.name}"] = [to_json(metrics.value_of(metric, metrics.pooled(sums_N, p))) for p in pick]
        if metric.name == layout.objective.headline.name:
            row["worst"] = to_json(metrics.worst_of(metric, sums_N, value_N))
    return row


def class_figures(got: Answers, pick: Sequence[Array]) -> Row:
    """Accuracy, F1 and the worst clients, from counts of right answers and, where they are there, counts by class."""
    right_N, total_N, has = got["right"], got["total"], got["total"] > 0
    accuracy_N = np.where(has, right_N / np.maximum(total_N, 1), math.nan)
    f1_N = metrics.client_f1(got.fields) if "true" in got.fields else None  # it needs counts by class
    row: Row = {"accuracy": to_json(metrics.weighted_accuracy(right_N, total_N))}
    if f1_N is not None:
        row["f1"] = to_json(np.nanmean(f1_N) if has.any() else math.nan)
        row["f1_pooled"] = to_json(metrics.macro_f1(*(got[name].sum(0) for name in ("true", "predicted", "both"))))
    row["worst"] = to_json(metrics.worst_tenth(accuracy_N))
    if pick:
        row["group_accuracy"] = [to_json(metrics.weighted_accuracy(right_N[p], total_N[p])) for p in pick]
    if pick and f1_N is not None:
        row["group_f1"] = [to_json(np.nanmean(f1_N[p])) if has[p].any() else None for p in pick]
        row["labels"] = {"samples": [got["true"][p].sum(0).tolist() for p in pick]}
    return row


def val_figures(got: Answers, layout: Layout) -> Row:
    row: Row = {}
    if layout.objective.decides:
        row["val_accuracy"] = to_json(metrics.weighted_accuracy(got["right"], got["total"]))
    row["val_loss"] = to_json(mean_loss(got["loss"], got["total"]))
    sums_N = sums_by_client(got, layout)
    return row | {
        f"val_{metric.name}": to_json(metrics.value_of(metric, metrics.pooled(sums_N)))
        for metric in layout.objective.reported
    }


def sums_by_client(got: Answers, layout: Layout) -> dict[str, Array]:
    """All that metrics are made of, a row per client."""
    own = {name: got[name] for name, _, _ in layout.sums}
    right = {"right": got["right"]} if layout.objective.decides else {}
    return {**own, **right, "total": got["total"], "loss": got["loss"] * got["total"]}


def mean_loss(loss_N: Array, total_N: Array) -> float:
    return float((loss_N * total_N).sum() / total_N.sum()) if total_N.sum() else math.nan


def ledger_part(ledger: Ledger, record: Record, layout: Layout) -> Row:
    """What travelled and what clients worked in this round, by task; and what servers of groups exchanged."""
    nothing = {"down": 0, "up": 0, "bytes_down": 0, "bytes_up": 0} if record.not_transmitted else {}
    looks = ledger.diagnostics_by_name()
    counts = sorted((ledger.counts | looks).items())
    row: Row = {"traffic": {name: {**vars(count), **nothing} for name, count in counts}, "diagnostic": sorted(looks)}
    if record.peer_transfers:
        count_peer_transfers_once(row["traffic"]["train"], record.peer_transfers)
    row["left_out"] = sum(e["kind"] == "left out" for e in ledger.events)
    if record.relayed:
        row |= {"relayed": record.relayed, "bytes_relayed": record.relayed * layout.bytes}
    if record.measures:
        row["measures"] = to_json(dict(record.measures))
    return row


def count_peer_transfers_once(train: Row, transfers: int) -> None:
    """The engine counts every hop of a chain down and up; what goes from client to client is sent once.

    >>> train = {"down": 7, "bytes_down": 700, "up": 7}
    >>> count_peer_transfers_once(train, 6)
    >>> train
    {'down': 1, 'bytes_down': 100, 'up': 7}
    """
    train["bytes_down"] -= transfers * (train["bytes_down"] // train["down"])
    train["down"] -= transfers


def share_lists(row: Row, before: Row) -> None:
    """Who was tested on how much seldom changes from round to round: records in memory share the lists.

    >>> first, second = ({"clients": {"ids": ["a"], "right": [1], "total": [3]}} for _ in range(2))
    >>> share_lists(second, first)
    >>> second["clients"]["ids"] is first["clients"]["ids"], second["clients"]["right"] is first["clients"]["right"]
    (True, False)
    """
    now, then = row.get("clients", {}), before.get("clients", {})
    now.update({name: then[name] for name in ("ids", "total") if name in then and then[name] == now.get(name)})


def clients_to_test(federation: Source, want: int | None, seed: int) -> Cohort:
    """The clients that are tested: all up to 10,000, else a fixed sample, the same for every algorithm of a seed.

    A client without training samples has no part in the run, and so is none of them.
    """
    roster = federation.roster
    ids = roster.with_samples
    size = want if want is not None else len(ids) if len(ids) <= 10_000 else 1_000
    if size >= len(ids):
        return ids
    scores_N: Array = Key(seed)("eval clients").scores(roster.hashes_N[roster.sizes_N > 0])
    return tuple(ids[i] for i in np.sort(np.argpartition(scores_N, size)[:size]))


def sample_places(ids: Cohort, most: int, seed: int) -> Array:
    """Places of at most so many clients, the same ones whoever else is there.

    >>> sample_places(("a", "b"), 3, seed=0).tolist(), len(sample_places(("a", "b", "c"), 2, seed=0))
    ([0, 1], 2)
    """
    if len(ids) <= most:
        return np.arange(len(ids))
    scores_N: Array = Key(seed)("recorded clients").scores(hash_ids(ids))
    return np.sort(np.argpartition(scores_N, most)[:most])
