"""What several runs say together: which number of groups did best, and whether groups were worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.analysis.advice.advice_input import Advice, ahead
from shoal.loop.history import summarise
from shoal.scores import ACCURACY, Score, score_of
from shoal.store.folder import Folder, flatten

SAME = ("data", "partition", "model", "rounds", "lr", "epochs", "steps", "drift")


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
    alike: dict[tuple[Score, tuple[str, ...]], list[tuple[dict[str, Any], float]]] = defaultdict(list)
    for folder in folders:
        config, history = flatten(folder.config()), folder.history()
        score, summary = score_of(config), summarise(history)
        chosen, best = summary.get(f"{score.name}_at_best_val"), summary[score.key("best")]
        if (value := chosen if chosen is not None else best) is not None:
            keys = tuple(str(config.get(k)) for k in SAME)
            alike[score, keys].append((config, float(value)))
    found: list[Advice] = []
    for (score, _), runs in alike.items():
        found += [*numbers(runs, score), *worth(runs, score)]
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


def numbers(runs: Sequence[tuple[Mapping[str, Any], float]], score: Score = ACCURACY) -> Iterator[Advice]:
    """For an algorithm that ran with several numbers of groups: the smallest that does as well as the best."""
    for name in dict.fromkeys(config["algorithm"] for config, _ in runs):
        mine = means([(c["groups"], s) for c, s in runs if c["algorithm"] == name and isinstance(c.get("groups"), int)])
        if len(mine) > 1:
            best = best_of(score, mine.values())
            k = min(k for k, s in mine.items() if not ahead(score, best, s))
            told = ", ".join(f"{k}: {score.show(s)}" for k, s in sorted(mine.items()))
            text = f"{name}: {k} groups do as well as any (best {score.title} by number of groups: {told})"
            yield Advice("groups", text, {score.name: {str(k): s for k, s in mine.items()}}, {"groups": k})


def label(config: Mapping[str, Any]) -> str:
    """The algorithm, and its number of groups if it has one."""
    return f"{config['algorithm']} groups={config['groups']}" if "groups" in config else str(config["algorithm"])


def best_of(score: Score, values: Iterable[float]) -> float:
    """The best of some values, of which there is at least one."""
    found = score.best(values)
    assert found is not None
    return found


def worth(runs: Sequence[tuple[Mapping[str, Any], float]], score: Score = ACCURACY) -> Iterator[Advice]:
    """One model for all, own models, groups: which of them serves clients best."""
    name_of = {label(c): c["algorithm"] for c, _ in runs}
    by = means([(label(c), s) for c, s in runs])

    def those(trait: str) -> dict[str, float]:
        names = set(ALGORITHMS.having(trait)) - set(ALGORITHMS.having("simulation_only"))
        return {a: s for a, s in by.items() if name_of[a] in names}

    one, alone, grouped = those("single_model"), those("own_models"), those("finds_groups")
    if not one or not (alone or grouped):
        return
    told = ", ".join(f"{a} {score.show(s)}" for a, s in by.items())
    best_one, best_group = best_of(score, one.values()), score.best(grouped.values())
    if best_group is not None and ahead(score, best_group, best_of(score, [best_one, *alone.values()])):
        best = next(a for a, s in grouped.items() if s == best_group)
        behind = "one model and of own models" if alone else "one model"
        yield Advice("need", f"groups are worth it: {best} is ahead of {behind} ({told})", dict(by))
    elif best_group is not None and not ahead(score, best_group, best_one):
        yield Advice("need", f"groups gain nothing over one model for all, so stay with it ({told})", dict(by))
    elif alone and ahead(score, best_of(score, alone.values()), best_one) and not grouped:
        text = f"clients do better alone than with one model, so they disagree: try groups ({told})"
        yield Advice("need", text, dict(by), {"algorithm": "fedgroup", "groups": "auto"})
