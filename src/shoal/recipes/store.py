"""The files of `results/`: one small JSON document per cell, with the values of every seed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from shoal.errors import RunFolderError
from shoal.recipes.records import Cell
from shoal.setup.options import own_keys
from shoal.setup.resolve import resolve
from shoal.store.folder import FREE

__all__ = ["Result", "Store"]

FORMAT = 1
EMPTY: dict[str, Any] = {"complete": False, "rounds": 0, "figures": {}, "curves": {}}  # what every run has
FREELY = {*FREE, "seed", "kernel", "compile", "timeout"}  # none of them decides a figure


@dataclass(frozen=True)
class Result:
    """What is known of a cell.

    Attributes:
        settings: Those that its runs had.
        runs: What each seed gave, as `shoal.recipes.runs.measure` keeps it.
        made: Code and machine of the last run.
        defaults: What its runs had beside the settings, `defaults_of` the cell at that time; empty in files that were
            written before this was kept.

    >>> Result({"lr": 0.1}, {0: {"complete": True, "figures": {"best_accuracy": 0.9}}}).values("best_accuracy")
    {0: 0.9}
    """

    settings: Mapping[str, Any]
    runs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def values(self, figure: str) -> dict[int, float]:
        """A figure by seed, of the runs that are complete and have it.

        Args:
            figure: Its name.

        Returns:
            Values by seed.
        """
        done = {seed: run["figures"] for seed, run in self.runs.items() if run["complete"]}
        return {seed: float(known[figure]) for seed, known in done.items() if known.get(figure) is not None}

    @property
    def seeds_done(self) -> tuple[int, ...]:
        """Seeds whose runs are complete."""
        return tuple(seed for seed, run in self.runs.items() if run["complete"])

    @property
    def seconds(self) -> float | None:
        """Of a complete run, the middle of all; None: there is none."""
        took = [float(run["seconds"]) for run in self.runs.values() if run["complete"] and run.get("seconds")]
        return median(took) if took else None


class Store:
    """The results below a folder.

    Args:
        root: The folder, which need not be there yet.

    >>> import tempfile
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("p/t", "a", "x", "fedavg", {"rounds": 1})
    >>> store.load(cell) is None
    True
    >>> store.save(cell, Result(cell.settings, {0: {**EMPTY, "complete": True, "seconds": 1.5}}))
    >>> store.load(cell).seconds
    1.5
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def missing(self) -> str | None:
        """A sentence if there is no such folder, so that nothing can be stored in it; an error if it is a file.

        >>> Store("nowhere").missing()
        'nothing is stored in nowhere, which is not there; results of the project are in its checkout'
        """
        if self.root.is_dir():
            return None
        if self.root.exists():
            raise RunFolderError(f"{self.root} is no folder; choose another --results DIR")
        return f"nothing is stored in {self.root}, which is not there; results of the project are in its checkout"

    def path(self, cell: Cell) -> Path:
        """Where a cell is kept.

        Args:
            cell: The cell.

        Returns:
            A path of a file.
        """
        return self.root / f"{cell.name}.json"

    def load(self, cell: Cell) -> Result | None:
        """What is known of a cell, None if nothing is.

        Args:
            cell: The cell.

        Returns:
            Its result, whatever settings it had; `differs` tells whether they are the cell's.
        """
        path = self.path(cell)
        if not path.is_file():
            return None
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["format"] != FORMAT:
                raise RunFolderError(f"{path} has format {found['format']}, this version of Shoal reads {FORMAT}")
            if found["cell"] != cell.name:
                raise ValueError(f"it is of {found['cell']}")
            runs = {int(run["seed"]): checked(run) for run in found["runs"]}
            if len(runs) < len(found["runs"]):
                raise ValueError("it has a seed twice")
            return Result(found["settings"], runs, found["made"], found.get("defaults", {}))
        except (OSError, ValueError, KeyError, TypeError) as e:
            why = f"it has no {e}" if isinstance(e, KeyError) else e
            raise RunFolderError(f"{path} cannot be read as the result of a cell: {why}; move it away") from e

    def save(self, cell: Cell, result: Result) -> None:
        """Write a cell down, at once or not at all.

        Args:
            cell: The cell.
            result: What is known of it.
        """
        runs = [{"seed": seed, **run} for seed, run in sorted(result.runs.items())]
        head = {
            "format": FORMAT,
            "cell": cell.name,
            "settings": result.settings,
            "defaults": result.defaults,
            "departures": cell.departures,
            "made": result.made,
        }
        lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
        body = ",\n".join("  " + json.dumps(run, separators=(",", ":")) for run in runs)
        path = self.path(cell)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.partial")
            partial.write_text("\n".join(["{", *lines, ' "runs": [', body, " ]", "}", ""]), encoding="utf-8")
            partial.replace(path)
        except OSError as e:
            raise RunFolderError(f"cannot write {path}: {e.strerror or e}; choose another --results DIR") from e


def checked(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run of a file that has all that is asked of one.

    >>> checked({**EMPTY, "rounds": "six"})
    Traceback (most recent call last):
    ValueError: rounds of a run is 'six'
    """
    for key, example in EMPTY.items():
        if not isinstance(run[key], type(example)):
            raise ValueError(f"{key} of a run is {run[key]!r}")
    for name, value in run["figures"].items():
        if value is not None and (not isinstance(value, int | float) or not math.isfinite(value)):
            raise ValueError(f"{name} of a run is {value!r}")
    return run


def defaults_of(cell: Cell) -> dict[str, Any]:
    """What decides the results of a cell's runs beside its own settings: the defaults of this version of Shoal.

    Args:
        cell: The recipe.

    Returns:
        Values by key, as a file holds them.

    >>> defaults_of(Cell("p/t", "a", "x", "fedprox", {"lr": 0.1}))["mu"]
    'auto'
    """
    asked = resolve(cell.algorithm, None, None, cell.keys)
    own = {key: option.default for key, option in own_keys(cell.algorithm).items() if key not in asked.own}
    found = {**asked.settings.model_dump(), **own}
    plain = {key: value if isinstance(value, bool | int | float | None) else str(value) for key, value in found.items()}
    return {key: value for key, value in plain.items() if key not in FREELY and key not in cell.keys}


def usable(cell: Cell, result: Result | None) -> Result | None:
    """What is stored of a cell, if it was made with the settings that its recipe has now.

    Args:
        cell: The recipe.
        result: What is stored; None: nothing is.

    Returns:
        The result, or None.

    >>> cell = Cell("p/t", "a", "x", "fedavg", {"lr": 0.1})
    >>> usable(cell, Result({"algorithm": "fedavg", "lr": 0.2})) is None, usable(cell, Result(cell.settings)) is None
    (True, False)
    """
    return result if result is not None and differs(cell, result) is None else None


def differs(cell: Cell, result: Result) -> str | None:
    """What a result's settings have otherwise than the cell's recipe and this version of Shoal, in words.

    A key that Shoal did not have when the result was made, or no longer has, is no difference.

    Args:
        cell: The recipe.
        result: What is stored.

    Returns:
        A few words; None: nothing.

    >>> differs(Cell("p/t", "a", "x", "fedavg", {"lr": 0.1}), Result({"algorithm": "fedavg", "lr": 0.2}))
    'lr=0.2 where the recipe has lr=0.1'
    >>> differs(Cell("p/t", "a", "x", "fedprox", {}), Result({"algorithm": "fedprox"}, defaults={"mu": 0.5}))
    'mu=0.5, the default of its time, where the default is mu=auto now'
    """
    wanted = json.loads(json.dumps(cell.settings))
    if result.settings.get("code") != wanted.get("code"):
        return f"figures of other code than {cell.source or cell.algorithm} has now"
    for key in (*wanted, *result.settings):
        if result.settings.get(key) != wanted.get(key):
            return f"{key}={result.settings.get(key)} where the recipe has {key}={wanted.get(key)}"
    now = defaults_of(cell) if result.defaults else {}
    for key in (key for key in result.defaults if key in now):
        if result.defaults[key] != now[key]:
            return f"{key}={result.defaults[key]}, the default of its time, where the default is {key}={now[key]} now"
    return None
