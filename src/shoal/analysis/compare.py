"""Runs side by side: mean and spread over seeds, rounds and bytes to a target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from shoal.analysis.further import Further, further_of
from shoal.analysis.quantities import Quantity, quantities
from shoal.errors import BadInput, RunFolderError, listing
from shoal.loop.history import History, summarise
from shoal.scores import ACCURACY, Score, score_of
from shoal.setup.settings import Settings
from shoal.store.folder import OWN, Folder, no_run
from shoal.store.sweep_file import as_asked, runs_of_sweep

__all__ = ["Line", "Spread", "compare", "expand"]

NOT_TELLING = (
    "seed",
    "engine",
    "workers",
    "compile",
    "fingerprint",
    "model_digest",
    "checkpoint_every",
    "track",
    "metrics",
    "format",
    "algorithm",
)  # do not make a setting another
SETTLED = ("clients_per_round", "kernel", "compile")  # an algorithm may settle them by itself

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Spread:
    """A mean over seeds, with how much they differ.

    Attributes:
        mean: Over the runs that have the figure.
        std: The standard deviation, with n - 1; None for one run.
        n: How many runs these are.

    >>> str(Spread(0.5, 0.125, 3)), str(Spread(0.5, None, 1))
    ('0.5 ± 0.12', '0.5')
    """

    mean: float
    std: float | None
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.std is None else f"{self.mean:.4g} ± {self.std:.2g}"


@dataclass(frozen=True)
class Line:
    """One setting of a comparison: its name, its runs, and the figures over them.

    Attributes:
        name: The algorithm, and the keys in which it differs from the other settings.
        runs: Their folders.
        complete: Whether all of them have come to their end.
        figures: The spread of every figure over the runs, None where no run has it; `FIGURES` tells what they mean.
        reached: How many runs reached the target.
        seeds: Of the runs, in their order.
        values: The figures of the single runs.
        score: The headline figure of the runs; all lines of a comparison have the same.
        further: Other metrics that some of them recorded.
        stopped: The last rounds of those that a rule or an observer ended before their last one.

    >>> Line("fedavg", ("runs/a",), True, {"best_accuracy": Spread(0.5, None, 1)}).figures["best_accuracy"].mean
    0.5
    """

    name: str
    runs: tuple[str, ...]
    complete: bool
    figures: Mapping[str, Spread | None]
    reached: int = 0
    seeds: tuple[int, ...] = ()
    values: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    score: Score = ACCURACY
    further: tuple[Further, ...] = ()
    stopped: tuple[int, ...] = ()


def figures_for(lines: Sequence[Line]) -> dict[str, Quantity]:
    """What the figures of some lines mean, by key: those of their score, and of every metric that one of them has.

    >>> list(figures_for([Line("a", (), True, {}, score=Score("rmse", "lower", percent=False))]))[0]
    'best_rmse'
    """
    further = tuple(dict.fromkeys(metric for line in lines for metric in line.further))
    return quantities(lines[0].score if lines else ACCURACY, further)


def renamed(lines: Sequence[Line], names: Sequence[str]) -> list[Line]:
    """The lines under other names, given in their order; a sentence unless there is one of its own for each.

    >>> [line.name for line in renamed([Line("ifca groups=3", (), True, {})], ["IFCA, three groups"])]
    ['IFCA, three groups']
    """
    if len(names) != len(lines):
        here = "; ".join(line.name for line in lines)
        raise BadInput(f"{len(names)} names are given for {len(lines)} settings, which are in this order: {here}")
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise BadInput(f"two settings cannot both be called {twice[0]!r}; give each a name of its own")
    return [replace(line, name=name) for line, name in zip(lines, names, strict=True)]


Paths = str | Path | Iterable[str | Path]


def listed(paths: Paths) -> list[Path]:
    """One path or several, as a list: a text is one path, not its letters.

    >>> listed("runs/x") == listed(["runs/x"]) == [Path("runs/x")]
    True
    """
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def expand(paths: Paths) -> list[Path]:
    """The run folders that are meant: a sweep stands for its runs, a folder of runs and sweeps for those.

    Args:
        paths: Run folders, sweeps, or folders of them; one of them is enough.

    Returns:
        Run folders, each once, in the order given.

    >>> import shoal, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> paths = shoal.sweep(["fedavg", "local"], rounds=1, engine="serial", out=folder)
    >>> expand(folder) == paths
    True
    """
    found: list[Path] = []
    for path in listed(paths):
        if (path / "sweep.json").is_file():
            names = [entry["name"] for entry in runs_of_sweep(path)]
            found += [path / name for name in names if (path / name / "config.toml").is_file()]
        elif (path / "config.toml").is_file():
            found.append(path)
        elif path.is_dir() and (inner := [p for p in sorted(path.iterdir()) if holds_run(p)]):
            found += expand(inner)
        else:
            raise no_run(path)
    if not found:
        raise RunFolderError("there is no run to compare")
    return list(dict.fromkeys(found))


def holds_run(path: Path) -> bool:
    return (path / "config.toml").is_file() or (path / "sweep.json").is_file()


def compare(paths: Paths, target: float | None = None) -> list[Line]:
    """One line per setting; runs that differ in their seed alone are one setting.

    Args:
        paths: Folders of runs, or of sweeps, or of both; one of them is enough.
        target: A value of the score, such as an accuracy; how many rounds and megabytes it took is then told, too.

    Returns:
        A line per setting, with the spread of every figure over its seeds.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg"], rounds=2, seed=[0, 1], engine="serial", out=tempfile.mkdtemp())
    >>> [(line.name, len(line.runs)) for line in compare(paths)]
    [('fedavg', 2)]
    """
    return compare_runs(expand(paths), target)


def check_target(target: float | None, score: Score = ACCURACY) -> None:
    """A sentence for a target that no run could have."""
    if target is None:
        return
    if score.percent and not 0 < target <= 1:
        article = "an" if score.title[0] in "aeiouAEIOU" else "a"
        raise BadInput(f"a target is {article} {score.title} between 0 and 1, not {target}")
    if not math.isfinite(target):
        raise BadInput(f"a target is a value of {score.title}, not {target}")


def one_score(configs: Iterable[Config]) -> Score:
    """The score that runs share; a sentence if they do not.

    >>> one_score([{"algorithm": "fedavg"}, {"algorithm": "ifca", "score": "accuracy"}]).name
    'accuracy'
    """
    found: dict[Score, list[str]] = {}
    for config in configs:
        found.setdefault(score_of(config), []).append(str(config.get("algorithm")))
    if len(found) > 1:
        told = listing([f"{score.title} ({', '.join(dict.fromkeys(names))})" for score, names in found.items()])
        raise BadInput(f"these runs have different scores, {told}, and cannot be ranked together; compare those of one")
    return next(iter(found), ACCURACY)


def compare_runs(paths: Sequence[Path], target: float | None = None) -> list[Line]:
    """The same for run folders alone, which are not looked into for others."""
    folders = [Folder(p) for p in paths]
    configs = [f.config() for f in folders]
    check_target(target, one_score(configs))
    flat = [as_asked(config) for config in configs]
    for config in flat:
        for key, mark in (("data", "fingerprint"), ("model", "model_digest")):
            if config.get(key) == OWN:
                config[key] = f"own {config.get(mark, '')}"
    lines: dict[str, list[Folder]] = {}
    for folder, config in zip(folders, flat, strict=True):
        alike = [c for c in flat if c["algorithm"] == config["algorithm"]]
        telling = [k for k in sorted(config) if k not in NOT_TELLING and differs(k, config, flat, alike)]
        shown = [f"{k}={config[k]}" for k in telling]
        lines.setdefault(" ".join([config["algorithm"], *shown]), []).append(folder)
    return [line_of(name, members, target) for name, members in lines.items()]


def differs(key: str, mine: Config, everybody: Sequence[Config], alike: Sequence[Config]) -> bool:
    """Whether a key tells a run from others: one that every run has, from all; an algorithm's own, from its like.

    >>> a, b = {"mu": 1, "lr": 0.1}, {"mu": 0, "lr": 0.2}
    >>> differs("lr", a, [a, b], [a]), differs("mu", a, [a, b], [a])
    (True, False)
    >>> differs("optimiser", {"optimiser": "sgd"}, [{"lr": 0.1}], [])      # of a run from before there was the key
    False
    """
    among = everybody if key in Settings.model_fields and key not in SETTLED else alike
    return any(str(value_of(key, c)) != str(value_of(key, mine)) for c in among)


def value_of(key: str, config: Config) -> Any:
    """What a run had for a key; one that its version did not have yet was as the default is."""
    known = key in Settings.model_fields and config.get("algorithm") != OWN
    return config.get(key, Settings.model_fields[key].default if known else None)


def line_of(name: str, members: Sequence[Folder], target: float | None) -> Line:
    configs, histories = [f.config() for f in members], [f.history() for f in members]
    score = one_score(configs)
    further = [m for c, h in zip(configs, histories, strict=True) for m in further_of(c, h)]
    keys = quantities(score, tuple(dict.fromkeys(further)))
    rows = [figures_of(h, f.summary(), target, keys) for h, f in zip(histories, members, strict=True)]
    values = {key: tuple(r[key] for r in rows) for key in keys}
    figures = {key: spread(found) for key, found in values.items()}
    seeds = tuple(int(config["seed"]) for config in configs)
    reached = sum(r["rounds_to_target"] is not None for r in rows)
    ends, folders = [f.summary() for f in members], tuple(str(f.path) for f in members)
    stopped = tuple(int(end["rounds"]) for end in ends if end and end.get("stopped"))
    complete, metrics = None not in ends, tuple(dict.fromkeys(further))
    return Line(name, folders, complete, figures, reached, seeds, values, score, metrics, stopped)


def figures_of(
    history: History, summary: Mapping[str, Any] | None, target: float | None, keys: Iterable[str] | None = None
) -> dict[str, float | None]:
    tested = history.tested()
    last = {f"last_{name}": v for name, v in (tested[-1] if tested else {}).items() if isinstance(v, int | float)}
    found = {**last, **summarise(history), **(summary or {})}
    hit = history.first(target) if target is not None else None
    return {
        **{key: found.get(key) for key in keys or quantities(history.score)},
        "rounds_to_target": hit and hit["round"],
        "megabytes_to_target": hit and history.bytes(hit["round"]) / 1e6,
        "test_loss_at_target": hit and hit.get("test_loss"),
        **{f"{key}_to_target": hit and history.estimated(key, hit["round"]) for key in ("d_comm", "t_comm", "t_comp")},
        "megabytes": history.bytes() / 1e6,
        "megabytes_relayed": relayed / 1e6 if (relayed := history.relayed().bytes) else None,
        "passes": sum(c["forward"] + c["backward"] for r in history for c in r["traffic"].values()) / 1e3,
    }


def spread(found: Sequence[float | None]) -> Spread | None:
    known = [float(v) for v in found if v is not None and not math.isnan(v)]
    if not known:
        return None
    return Spread(fmean(known), stdev(known) if len(known) > 1 else None, len(known))
