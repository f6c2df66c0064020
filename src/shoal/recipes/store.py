"""The files of `results/`: one small JSON document per cell, with the values of every seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.recipes.records import Cell

__all__ = ["Result", "Store"]

FORMAT = 1


@dataclass(frozen=True)
class Result:
    """What is known of a cell.

    Attributes:
        settings: Those that its runs had.
        runs: What each seed gave, as `shoal.recipes.measure` keeps it.
        made: Code and machine of the last run.

    >>> Result({"lr": 0.1}, {0: {"complete": True, "figures": {"best_accuracy": 0.9}}}).values("best_accuracy")
    {0: 0.9}
    """

    settings: Mapping[str, Any]
    runs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    made: Mapping[str, Any] = field(default_factory=dict)

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
        """Of a complete run, on average; None: there is none."""
        took = [float(run["seconds"]) for run in self.runs.values() if run["complete"]]
        return sum(took) / len(took) if took else None


class Store:
    """The results below a folder.

    Args:
        root: The folder, which need not be there yet.

    >>> import tempfile
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("p/t", "a", "x", "fedavg", {"rounds": 1})
    >>> store.load(cell) is None
    True
    >>> store.save(cell, Result(cell.settings, {0: {"complete": True, "seconds": 1.5, "figures": {}, "curves": {}}}))
    >>> store.load(cell).seconds
    1.5
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

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
            runs = {int(run["seed"]): run for run in found["runs"]}
            return Result(found["settings"], runs, found["made"])
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise RunFolderError(f"{path} cannot be read as the result of a cell: {e}; move it away") from e

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


def differs(cell: Cell, result: Result) -> str | None:
    """What a result's settings have otherwise than the cell's recipe, in words; None: nothing.

    Args:
        cell: The recipe.
        result: What is stored.

    Returns:
        A few words.

    >>> differs(Cell("p/t", "a", "x", "fedavg", {"lr": 0.1}), Result({"algorithm": "fedavg", "lr": 0.2}))
    'lr=0.2 where the recipe has lr=0.1'
    """
    wanted = json.loads(json.dumps(cell.settings))
    for key in (*wanted, *result.settings):
        if result.settings.get(key) != wanted.get(key):
            return f"{key}={result.settings.get(key)} where the recipe has {key}={wanted.get(key)}"
    return None
