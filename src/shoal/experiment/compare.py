"""Runs side by side: mean and spread over seeds, rounds and bytes to a target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from shoal.errors import BadInput, RunFolderError
from shoal.experiment.config import Settings
from shoal.experiment.folder import Folder, planned
from shoal.experiment.history import History, summarise
from shoal.experiment.prepare import OWN

NOT_TELLING = (
    "seed",
    "engine",
    "workers",
    "compile",
    "fingerprint",
    "model_digest",
    "checkpoint_every",
    "track",
    "format",
    "algorithm",
)  # do not make a setting another

Config = Mapping[str, Any]


@dataclass(frozen=True)
class Spread:
    """A mean over seeds, its standard deviation (None for one seed) and how many there were."""

    mean: float
    std: float | None
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.4g}" if self.std is None else f"{self.mean:.4g} ± {self.std:.2g}"


@dataclass(frozen=True)
class Line:
    """One setting of a comparison: its name, its runs, and the figures over them."""

    name: str
    runs: tuple[str, ...]
    complete: bool
    figures: Mapping[str, Spread | None]
    reached: int = 0  # runs that reached the target
    seeds: tuple[int, ...] = ()  # of the runs, in their order
    values: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)  # figures of the single runs


FIGURES = {
    "best_accuracy": "best accuracy over all rounds in which every client had a model",
    "accuracy_at_best_val": "test accuracy in the round of best validation accuracy",
    "median_accuracy": "median accuracy over the same rounds",
    "last_three_accuracy": "mean accuracy of the last three tested rounds",
    "last_f1": "macro F1 per client, mean over clients, last round",
    "last_worst": "mean accuracy of the worst tenth of the clients, last round",
    "ari": "adjusted Rand index of the groups against the planted ones",
    "groups": "models at the end",
    "discrepancy_mean": "mean distance of clients' solutions from the model they were put into",
    "discrepancy_variance": "its variance over rounds",
    "rounds_to_target": "first round that reaches the target",
    "megabytes_to_target": "MB between clients and groups until then",
    "megabytes": "MB between clients and groups, down and up, without evaluation",
    "megabytes_relayed": "MB between groups and the cloud: models that groups exchange",
    "d_comm": "MB by FedGSP's cost model: one model down and up for every client that trains",
    "t_comm": "seconds of sending by that model, at 567 Mbit/s, one client after the other",
    "t_comp": "seconds of computing by that model, at 567 GFLOP/s, groups side by side",
    "passes": "samples sent through models on clients, in thousands",
    "seconds": "time of all rounds",
}


SETTLED = ("clients_per_round", "kernel", "compile")  # an algorithm may settle them by itself

LOWER = (
    "discrepancy_mean",
    "discrepancy_variance",
    "rounds_to_target",
    "megabytes_to_target",
    "megabytes",
    "passes",
    "seconds",
)  # figures of which less is better


def expand(paths: Iterable[str | Path]) -> list[Path]:
    """Run folders, sweeps being replaced by their runs; a folder of runs and sweeps by those."""
    found: list[Path] = []
    for path in map(Path, paths):
        if (path / "sweep.json").is_file():
            names = [entry["name"] for entry in planned(path)]
            found += [path / name for name in names if (path / name / "config.toml").is_file()]
        elif (path / "config.toml").is_file():
            found.append(path)
        elif path.is_dir() and (inner := [p for p in sorted(path.iterdir()) if holds_run(p)]):
            found += expand(inner)
        else:
            raise RunFolderError(f"{path} is not a run folder: it has no config.toml")
    if not found:
        raise RunFolderError("there is no run to compare")
    return list(dict.fromkeys(found))


def holds_run(path: Path) -> bool:
    return (path / "config.toml").is_file() or (path / "sweep.json").is_file()


def compare(paths: Iterable[str | Path], target: float | None = None) -> list[Line]:
    """One line per setting; runs that differ in their seed alone are one setting.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg"], rounds=2, seed=[0, 1], engine="serial", out=tempfile.mkdtemp())
    >>> [(line.name, len(line.runs)) for line in compare(paths)]
    [('fedavg', 2)]
    """
    if target is not None and not 0 < target <= 1:
        raise BadInput(f"a target is an accuracy between 0 and 1, not {target}")
    folders = [Folder(p) for p in expand(paths)]
    flat = [flatten(f.config()) for f in folders]
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
    """
    among = everybody if key in Settings.model_fields and key not in SETTLED else alike
    return any(str(c.get(key)) != str(mine.get(key)) for c in among)


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with an algorithm's own keys beside the others."""
    own = config.get(str(config.get("algorithm")), {})
    return {**{k: v for k, v in config.items() if not isinstance(v, dict)}, **own}


def line_of(name: str, members: Sequence[Folder], target: float | None) -> Line:
    rows = [figures_of(f.history(), f.summary(), target) for f in members]
    values = {key: tuple(r[key] for r in rows) for key in FIGURES}
    figures = {key: spread(found) for key, found in values.items()}
    seeds = tuple(int(f.config()["seed"]) for f in members)
    reached = sum(r["rounds_to_target"] is not None for r in rows)
    complete = all(f.summary() is not None for f in members)
    return Line(name, tuple(str(f.path) for f in members), complete, figures, reached, seeds, values)


def figures_of(history: History, summary: Mapping[str, Any] | None, target: float | None) -> dict[str, float | None]:
    found = {**summarise(history), **(summary or {})}
    hit = history.first(target) if target is not None else None
    return {
        **{key: found.get(key) for key in FIGURES},
        "rounds_to_target": hit and hit["round"],
        "megabytes_to_target": hit and history.bytes(hit["round"]) / 1e6,
        "megabytes": history.bytes() / 1e6,
        "megabytes_relayed": relayed / 1e6 if (relayed := history.relayed().bytes) else None,
        "passes": sum(c["forward"] + c["backward"] for r in history for c in r["traffic"].values()) / 1e3,
    }


def spread(found: Sequence[float | None]) -> Spread | None:
    known = [float(v) for v in found if v is not None and not math.isnan(v)]
    if not known:
        return None
    return Spread(fmean(known), stdev(known) if len(known) > 1 else None, len(known))
