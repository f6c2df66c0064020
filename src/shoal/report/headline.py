"""The words and numbers of a page that are no figures: headline, cards, tables, commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.experiment.compare import FIGURES, Line
from shoal.experiment.prepare import OWN
from shoal.experiment.significance import Difference
from shoal.report.read import Told

SAID = {"fedavg": "one model for all (FedAvg)", "local": "every client alone", "central": "all data pooled"}
HIDDEN = ("fingerprint", "model_digest")


@dataclass(frozen=True)
class Card:
    """A number with its name and what it means."""

    name: str
    value: str
    note: str
    key: str  # of summary.json


@dataclass(frozen=True)
class Sheet:
    """A table of words."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    folded: bool = False


def title_of(told: Told) -> str:
    return f"{called(told, 'algorithm')} on {called(told, 'data')}"


def called(told: Told, key: str) -> str:
    """What a setting is called; what was given as an object has no name."""
    return f"own {key}" if told.config.get(key) == OWN else str(told.config.get(key))


def subtitle_of(told: Told) -> str:
    """What was run, in one line."""
    config, played = told.config, told.history[-1]["round"]
    clients = len(told.tested[-1]["clients"]["ids"]) if told.tested else None
    rounds = f"{played} rounds" if told.complete else f"{played} of {config.get('rounds')} rounds so far"
    parts = [rounds, f"{clients:,} clients tested" if clients else None, f"model {called(told, 'model')}"]
    parts += [f"partition {config['partition']}" if config.get("partition") else None]
    parts += [f"drift {config['drift']}" if config.get("drift") not in (None, "none", "") else None]
    return " · ".join([*(p for p in parts if p), f"seed {config.get('seed')}"])


def verdict(told: Told) -> str:
    """The result in a sentence, against the runs beside it."""
    best = told.summary.get("best_accuracy")
    if best is None:
        return "No round in which every client had a model was tested yet."
    sentence = f"Best accuracy {100 * best:.1f} % in round {told.summary['best_round']}"
    beside = [(b.algorithm, b.summary.get("best_accuracy")) for b in told.beside]
    told_of = [f"{gap(best, other)} {SAID[name]}" for name, other in beside if other is not None]
    sentence = f"{sentence}: {' and '.join(told_of)}." if told_of else f"{sentence}."
    collapsed = sum(e["kind"] == "collapsed" for e in told.events)
    return f"{sentence} The groups collapsed into one in {collapsed} rounds." if collapsed else sentence


def gap(best: float, other: float) -> str:
    """
    >>> gap(0.9, 0.36), gap(0.5, 0.61)
    ('54.0 points above', '11.0 points below')
    """
    return f"{abs(100 * (best - other)):.1f} points {'above' if best >= other else 'below'}"


def cards(told: Told) -> list[Card]:
    """The numbers one looks at first."""
    s = told.summary
    found = [
        Card(
            "Best accuracy",
            share(s.get("best_accuracy")),
            "no round counts yet" if s.get("best_round") is None else f"in round {s['best_round']}",
            "best_accuracy",
        ),
        Card("Last three rounds", share(s.get("last_three_accuracy")), "mean accuracy", "last_three_accuracy"),
        Card("Worst tenth", share(s.get("last_worst")), "mean accuracy of the worst-served clients", "last_worst"),
        Card("Macro F1", share(s.get("last_f1")), "mean over clients", "last_f1"),
        Card("Models", str(s.get("groups")), "one per group of clients", "groups"),
    ]
    if s.get("ari") is not None:
        found.append(Card("Agreement", f"{s['ari']:.2f}", "adjusted Rand index with the true groups", "ari"))
    found.append(Card("Traffic", megabytes(s["bytes"]), f"{s['vectors']:,} models down and up", "bytes"))
    found.append(Card("Time", seconds(s["seconds"]), "of all rounds", "seconds"))
    return found


def share(value: float | None) -> str:
    """
    >>> share(0.9342), share(None)
    ('93.4 %', '-')
    """
    return "-" if value is None else f"{100 * value:.1f} %"


def megabytes(count: float) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def seconds(value: float) -> str:
    """
    >>> seconds(12.34), seconds(83), seconds(3700)
    ('12.3 s', '1:23 min', '1:01 h')
    """
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes}:{rest:02d} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d} h"


def settings_sheet(told: Told) -> Sheet:
    """Every setting with the value it had."""
    common = {k: v for k, v in told.config.items() if not isinstance(v, Mapping) and k not in HIDDEN}
    own = {f"{told.algorithm}.{k}": v for k, v in told.own.items()}
    rows = [[k, str(v)] for k, v in {**common, **own}.items()]
    return Sheet("Resolved settings", ("key", "value"), rows, f"As in {told.path}/config.toml.", folded=True)


def environment_sheet(told: Told) -> Sheet:
    """What the run ran on."""
    rows = [[k, str(v)] for k, v in told.environment.items() if k != "command"]
    rows += [[k, str(told.config[k])] for k in HIDDEN if told.config.get(k)]
    return Sheet("Environment", ("what", "value"), rows, folded=True)


def commands(told: Told) -> list[tuple[str, str]]:
    """What to type to run it again, and what was typed; each with a word about it."""
    found = [("To run it again, with the same result:", shlex.join(["shoal", "run", f"{told.path}/config.toml"]))]
    typed: Sequence[Any] = told.environment.get("command", ())
    if typed and Path(str(typed[0])).name == "shoal":
        found.append(("It came from:", shlex.join(["shoal", *map(str, typed[1:])])))
    return found


# ------------------------------------------------------------------------------------------------ several runs

HEADS = {
    "best_accuracy": "best (%)",
    "accuracy_at_best_val": "at best val. (%)",
    "last_three_accuracy": "last three (%)",
    "last_f1": "macro F1 (%)",
    "last_worst": "worst tenth (%)",
    "ari": "ARI",
    "groups": "models",
    "rounds_to_target": "rounds to target",
    "megabytes_to_target": "MB to target",
    "megabytes": "sent (MB)",
    "seconds": "time (s)",
}
SHARES = ("best_accuracy", "accuracy_at_best_val", "last_three_accuracy", "last_f1", "last_worst")


def comparison_sheet(lines: Sequence[Line], target: float | None) -> Sheet:
    """Mean and standard deviation over seeds, a row per setting."""
    keys = [k for k in HEADS if any(line.figures[k] is not None for line in lines)]
    rows = [
        [line.name + ("" if line.complete else " *"), str(len(line.runs)), *(cell(k, line) for k in keys)]
        for line in lines
    ]
    notes = ["Mean ± standard deviation over seeds."]
    notes += [f"The target is {share(target)}; runs that miss it are not in the mean."] if target is not None else []
    notes += ["* not complete yet."] if not all(line.complete for line in lines) else []
    return Sheet("Side by side", ("setting", "runs", *(HEADS[k] for k in keys)), rows, " ".join(notes))


def meaning_sheet(lines: Sequence[Line]) -> Sheet:
    """What the columns mean."""
    rows = [[HEADS[k], FIGURES[k]] for k in HEADS if any(line.figures[k] is not None for line in lines)]
    return Sheet("What the columns mean", ("column", "meaning"), rows, folded=True)


def cell(key: str, line: Line) -> str:
    """A figure of a setting; a target that not every run reached says how many did."""
    spread = line.figures[key]
    if spread is None:
        return "-"
    scale = 100 if key in SHARES else 1
    digits = (
        2 if key == "ari" else 0 if key in ("groups", "rounds_to_target") and spread.mean == round(spread.mean) else 1
    )
    text = f"{scale * spread.mean:,.{digits}f}"
    text += f" ± {scale * spread.std:,.{max(digits, 1)}f}" if spread.std else ""
    some = key == "rounds_to_target" and line.reached < len(line.runs)
    return f"{text} ({line.reached} of {len(line.runs)})" if some else text


def best_cells(lines: Sequence[Line]) -> frozenset[tuple[int, int]]:
    """Row and column of the highest figures of `comparison_sheet`: of all that look the same there."""
    keys = [k for k in HEADS if any(line.figures[k] is not None for line in lines)]
    found = []
    for c, key in enumerate(keys):
        means = [(r, f"{line.figures[key].mean:.3f}") for r, line in enumerate(lines) if line.figures[key]]  # type: ignore[union-attr]
        if key in (*SHARES, "ari") and len(means) > 1:
            best = max(mean for _, mean in means)
            found += [(r, c + 2) for r, mean in means if mean == best]
    return frozenset(found)


def differences_sheet(found: Sequence[Difference]) -> Sheet:
    """How sure the difference of each setting from the best one is."""
    rows = []
    for d in found:
        interval = "-" if d.low is None or d.high is None else f"{100 * d.low:+.1f} to {100 * d.high:+.1f}"
        n = str(d.n[0]) if d.test != "Welch" else f"{d.n[0]} and {d.n[1]}"
        numbers = ["-" if v is None else f"{v:.2g}" for v in (d.effect, d.p, d.p_holm)]
        rows.append([d.setting, f"{100 * d.mean:+.1f}", interval, *numbers, n, d.test or "one run: none"])
    least = sorted({d.n[0]: d.least_p for d in found if d.least_p is not None}.items())
    notes = [f"Best accuracy of each setting minus that of {found[0].against}, in points."]
    notes += [
        f"With {n} pairs of seeds no exact test can give a p below {p:.2g}, however clear the case." for n, p in least
    ]
    notes.append("Holm: p corrected for looking at several differences.")
    heads = ("setting", "difference (points)", "95 % interval", "effect d", "p", "p (Holm)", "n", "test")
    return Sheet("How sure are the differences?", heads, rows, " ".join(notes))
