"""Runs side by side: mean and spread over seeds, rounds and bytes to a target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from shoal.analysis.quantities import FIGURES
from shoal.errors import BadInput, RunFolderError
from shoal.loop.history import History, summarise
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
        complete: Whether all of them have played all their rounds.
        figures: The spread of every figure over the runs, None where no run has it; `FIGURES` tells what they mean.
        reached: How many runs reached the target.
        seeds: Of the runs, in their order.
        values: The figures of the single runs.

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
        target: An accuracy; how many rounds and megabytes it took is then told, too.

    Returns:
        A line per setting, with the spread of every figure over its seeds.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg"], rounds=2, seed=[0, 1], engine="serial", out=tempfile.mkdtemp())
    >>> [(line.name, len(line.runs)) for line in compare(paths)]
    [('fedavg', 2)]
    """
    check_target(target)
    return compare_runs(expand(paths), target)


def check_target(target: float | None) -> None:
    if target is not None and not 0 < target <= 1:
        raise BadInput(f"a target is an accuracy between 0 and 1, not {target}")


def compare_runs(paths: Sequence[Path], target: float | None = None) -> list[Line]:
    """The same for run folders alone, which are not looked into for others."""
    check_target(target)
    folders = [Folder(p) for p in paths]
    flat = [as_asked(f.config()) for f in folders]
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
