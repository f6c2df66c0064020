"""The words and numbers of a page that are no figures: headline, cards, tables, commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.analysis.compare import Line
from shoal.analysis.quantities import Quantity
from shoal.analysis.significance import Difference
from shoal.analysis.table import (
    NOT_COMPLETE,
    Comparison,
    difference_cells,
    difference_heads,
    difference_notes,
    partial_note,
    tabulate,
)
from shoal.analysis.units import duration, percent, size
from shoal.report.loaded_run import LoadedRun, Row
from shoal.scores import Score
from shoal.store.folder import OWN

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
    marked: frozenset[tuple[int, int]] = frozenset()  # row and column of the best cells


def title_of(loaded: LoadedRun) -> str:
    return f"{called(loaded, 'algorithm')} on {called(loaded, 'data')}"


def called(loaded: LoadedRun, key: str) -> str:
    """What a setting is called; what was given as an object has no name."""
    return f"own {key}" if loaded.config.get(key) == OWN else str(loaded.config.get(key))


def subtitle_of(loaded: LoadedRun) -> str:
    """What was run, in one line."""
    config, played = loaded.config, loaded.history[-1]["round"]
    clients = len(loaded.tested[-1]["clients"]["ids"]) if loaded.tested else None
    rounds = f"{played} rounds" if loaded.complete else f"{played} of {config.get('rounds')} rounds so far"
    if loaded.summary.get("stopped"):
        rounds = f"{played} of {config.get('rounds')} rounds, stopped: {loaded.summary['stopped']}"
    parts = [rounds, f"{clients:,} clients tested" if clients else None, f"model {called(loaded, 'model')}"]
    parts += [f"partition {config['partition']}" if config.get("partition") else None]
    parts += [f"drift {config['drift']}" if config.get("drift") not in (None, "none", "") else None]
    return " · ".join([*(p for p in parts if p), f"seed {config.get('seed')}"])


def decision_sheet(loaded: LoadedRun) -> Sheet | None:
    """What `auto` found and why it chose the method; None if a user chose it."""
    said = [[str(e.get("about")), str(e.get("says"))] for e in loaded.events if e["kind"] == "decision"]
    return Sheet("Chosen by auto", ("about", "what was found"), said) if said else None


def cards(loaded: LoadedRun) -> list[Card]:
    """The numbers one looks at first."""
    s = loaded.summary
    found = [*score_cards(s, loaded.score), Card("Models", str(s.get("groups")), "one per group of clients", "groups")]
    if s.get("ari") is not None:
        found.append(Card("Agreement", f"{s['ari']:.2f}", "adjusted Rand index with the true groups", "ari"))
    found.append(Card("Traffic", size(s["bytes"]), f"{s['vectors']:,} models down and up", "bytes"))
    found.append(Card("Time", duration(s["seconds"]), "of all rounds", "seconds"))
    return found


def score_cards(summary: Row, score: Score) -> list[Card]:
    """How well clients are served; where no round had a model for all, best and last with whom they are about."""
    best, last = (f"{which} {score.title}" for which in ("Best", "Last"))
    if summary.get(score.key("best")) is None and summary.get(score.key("best_partial")) is not None:
        keys = [score.key(f"{which}_partial") for which in ("best", "last")]
        return [
            Card(best, score.show(summary[keys[0]]), partial_note(summary, "best"), keys[0]),
            Card(last, score.show(summary[keys[1]]), partial_note(summary, "last"), keys[1]),
        ]
    at = summary.get("best_round")
    note = "no round counts yet" if at is None else f"in round {at}"
    keys = [score.key("best"), score.key("last_three")]
    return [
        Card(best, score.show(summary.get(keys[0])), note, keys[0]),
        Card("Last three", score.show(summary.get(keys[1])), f"rounds, mean {score.title}", keys[1]),
        Card("Worst tenth", score.show(summary.get("last_worst")), score.worst, "last_worst"),
        *f1_cards(summary),
        *(() if score.name == "test_loss" else loss_cards(summary)),
    ]


def f1_cards(summary: Row) -> list[Card]:
    """F1, where tests counted by class."""
    found = summary.get("last_three_f1")
    note = "last three rounds, mean over clients"
    return [] if found is None else [Card("Macro F1", percent(found), note, "last_three_f1")]


def loss_cards(summary: Row) -> list[Card]:
    """The least test loss and the last one, where the loss was recorded."""
    best, last = summary.get("best_test_loss"), summary.get("last_test_loss")
    note = "best" if last is None else f"best; {last:.3f} in the last round"
    return [] if best is None else [Card("Test loss", f"{best:.3f}", note, "best_test_loss")]


def settings_sheet(loaded: LoadedRun) -> Sheet:
    """Every setting with the value it had."""
    common = {k: v for k, v in loaded.config.items() if not isinstance(v, Mapping) and k not in HIDDEN}
    own = {f"{loaded.algorithm}.{k}": v for k, v in loaded.own.items()}
    rows = [[k, str(v)] for k, v in {**common, **own}.items()]
    return Sheet("Resolved settings", ("key", "value"), rows, f"As in {loaded.path}/config.toml.", folded=True)


def environment_sheet(loaded: LoadedRun) -> Sheet:
    """What the run ran on."""
    rows = [[k, str(v)] for k, v in loaded.environment.items() if k != "command"]
    rows += [[k, str(loaded.config[k])] for k in HIDDEN if loaded.config.get(k)]
    return Sheet("Environment", ("what", "value"), rows, folded=True)


def commands(loaded: LoadedRun) -> list[tuple[str, str]]:
    """What to type to run it again, and what was typed; each with a word about it."""
    found = [("To run it again, with the same result:", shlex.join(["shoal", "run", f"{loaded.path}/config.toml"]))]
    if loaded.config.get("engine") == "flower":
        found = [("To go on with it, on the server of the federation:", "flwr run APP --run-config 'resume=true'")]
    typed: Sequence[Any] = loaded.environment.get("command", ())
    if typed and Path(str(typed[0])).name == "shoal":
        found.append(("It came from:", shlex.join(["shoal", *map(str, typed[1:])])))
    return found


# ------------------------------------------------------------------------------------------------ several runs


def comparison_sheet(
    found: Comparison, target: float | None, title: str = "Side by side", folded: bool = False
) -> Sheet:
    """Mean and standard deviation over seeds, a row per setting; the best cells are marked."""
    rows = [
        [name, str(len(line.runs)), *(cell.shown(" ± ") for cell in cells)]
        for name, line, cells in zip(found.names, found.lines, found.rows, strict=True)
    ]
    marked = {(r, c + 2) for r, cells in enumerate(found.rows) for c, cell in enumerate(cells) if cell.best}
    notes = ["Mean ± standard deviation over seeds."]
    score = found.lines[0].score
    notes += (
        [f"The target is {score.show(target)}; runs that miss it are not in the mean."] if target is not None else []
    )
    notes += [f"* {NOT_COMPLETE}."] if not found.complete else []
    notes += [f"{found.stopped[0].upper()}{found.stopped[1:]}."] if found.stopped else []
    heads = ("setting", "runs", *(quantity.long_head for quantity in found.columns))
    return Sheet(title, heads, rows, " ".join(notes), folded, frozenset(marked))


def meaning_sheet(found: Comparison, target: float | None) -> Sheet:
    """What the columns mean."""
    rows = [[head.long, meaning] for head, meaning in found.meanings(target)]
    return Sheet("What the columns mean", ("column", "meaning"), rows, folded=True)


def comparison_sheets(lines: Sequence[Line], target: float | None) -> list[Sheet]:
    """The figures that are always shown, the rarer ones folded, and what the columns of both mean."""
    often, everything = tabulate(lines), tabulate(lines, everything=True)
    rarely = tabulate(lines, [q for q in everything.columns if q not in often.columns])
    sheets = [comparison_sheet(often, target)]
    if rarely.columns:
        sheets.append(comparison_sheet(rarely, target, "Rarer figures", folded=True))
    return [*sheets, meaning_sheet(everything, target)]


def differences_sheet(found: Sequence[Difference], quantity: Quantity) -> Sheet:
    """How sure the difference of each setting from the best one is."""
    heads = {head.short: head.long for head in difference_heads(quantity)}
    notes = [f"{heads.get(short, short)}: {meaning}." for short, meaning in difference_notes(found, quantity).items()]
    rows = [difference_cells(d, quantity) for d in found]
    opening = f"{quantity.meaning[0].upper()}{quantity.meaning[1:]}, against {found[0].against}."
    return Sheet("How sure are the differences?", list(heads.values()), rows, " ".join([opening, *notes]))
