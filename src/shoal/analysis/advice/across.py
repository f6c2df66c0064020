"""What several runs say together: which number of groups did best, and whether groups were worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.analysis.advice.advice_input import Advice
from shoal.analysis.units import percent
from shoal.loop.history import summarise
from shoal.store.folder import Folder, flatten

SAME = ("data", "partition", "model", "rounds", "lr", "epochs", "steps", "drift")
ENOUGH = 0.01  # accuracies closer than this are the same


def advise_across(folders: Sequence[Folder]) -> list[Advice]:
    """Advice that rests on several runs of the same federation and model; of several seeds it takes the mean.

    Args:
        folders: Of the runs.

    Returns:
        Which number of groups is enough, and whether groups are worth it.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "local"], rounds=10, lr=0.3, engine="serial", out=tempfile.mkdtemp())
    >>> [found.about for found in advise_across([Folder(path) for path in paths])]
    ['need']
    """
    alike: dict[tuple[str, ...], list[tuple[dict[str, Any], float]]] = defaultdict(list)
    for folder in folders:
        config, history = flatten(folder.config()), folder.history()
        score = summarise(history).get("accuracy_at_best_val") if len(history) else None
        score = score if score is not None or not len(history) else summarise(history)["best_accuracy"]
        if score is not None:
            keys = tuple(str(config.get(k)) for k in SAME)
            alike[keys].append((config, float(score)))
    found: list[Advice] = []
    for runs in alike.values():
        found += [*numbers(runs), *worth(runs)]
    return found


def means(pairs: Sequence[tuple[Any, float]]) -> dict[Any, float]:
    """The mean of the values of each key, keys in order of their first value.

    >>> means([("a", 1.0), ("b", 2.0), ("a", 3.0)])
    {'a': 2.0, 'b': 2.0}
    """
    lists: dict[Any, list[float]] = defaultdict(list)
    for key, value in pairs:
        lists[key].append(value)
    return {key: fmean(values) for key, values in lists.items()}


def numbers(runs: Sequence[tuple[Mapping[str, Any], float]]) -> Iterator[Advice]:
    """For an algorithm that ran with several numbers of groups: the smallest that does as well as the best."""
    for name in dict.fromkeys(config["algorithm"] for config, _ in runs):
        mine = means([(c["groups"], s) for c, s in runs if c["algorithm"] == name and isinstance(c.get("groups"), int)])
        if len(mine) > 1:
            best = max(mine.values())
            k = min(k for k, s in mine.items() if s >= best - ENOUGH)
            told = ", ".join(f"{k}: {percent(s)}" for k, s in sorted(mine.items()))
            text = f"{name}: {k} groups do as well as any (best accuracy by number of groups: {told})"
            yield Advice("groups", text, {"accuracy": {str(k): s for k, s in mine.items()}}, {"groups": k})


def label(config: Mapping[str, Any]) -> str:
    """The algorithm, and its number of groups if it has one."""
    return f"{config['algorithm']} groups={config['groups']}" if "groups" in config else str(config["algorithm"])


def worth(runs: Sequence[tuple[Mapping[str, Any], float]]) -> Iterator[Advice]:
    """One model for all, own models, groups: which of them serves clients best."""
    name_of = {label(c): c["algorithm"] for c, _ in runs}
    by = means([(label(c), s) for c, s in runs])

    def those(trait: str) -> dict[str, float]:
        names = set(ALGORITHMS.having(trait)) - set(ALGORITHMS.having("simulation_only"))
        return {a: s for a, s in by.items() if name_of[a] in names}

    one, alone, grouped = those("single_model"), those("own_models"), those("finds_groups")
    if not one or not (alone or grouped):
        return
    told = ", ".join(f"{a} {percent(s)}" for a, s in by.items())
    best_one = max(one.values())
    if grouped and max(grouped.values()) > max([best_one, *alone.values()]) + ENOUGH:
        best = max(grouped, key=lambda a: grouped[a])
        behind = "one model and of own models" if alone else "one model"
        yield Advice("need", f"groups are worth it: {best} is ahead of {behind} ({told})", dict(by))
    elif grouped and max(grouped.values()) <= best_one + ENOUGH:
        yield Advice("need", f"groups gain nothing over one model for all, so stay with it ({told})", dict(by))
    elif alone and max(alone.values()) > best_one + ENOUGH and not grouped:
        text = f"clients do better alone than with one model, so they disagree: try groups ({told})"
        yield Advice("need", text, dict(by), {"algorithm": "fedgroup", "groups": "auto"})
