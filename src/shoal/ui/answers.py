"""What the pages show, as JSON: a run with its figures, a comparison with its tables. Pure reading."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.experiment.compare import FIGURES, Line, compare, flatten
from shoal.experiment.significance import differences
from shoal.report.figure import Drawn, Figure
from shoal.report.figures import COMPARISON, of_run
from shoal.report.figures.compared import Setting
from shoal.report.read import Told, read_run

TABLE = 200  # rows of a figure's table that go with it; its CSV has all

Document = dict[str, Any]


def run_document(folder: Path) -> Document:
    """All there is to see of one run."""
    told = read_run(folder)
    sections = [{"title": title, **split(figures)} for title, figures in of_run(told).items()]
    return {
        "sections": sections,
        "figures": headline(told),
        "settings": {k: str(v) for k, v in flatten(told.config).items()},
        "environment": {k: said(v) for k, v in told.environment.items()},
    }


def headline(told: Told) -> Document:
    """The figures of the summary, and of the runs beside."""
    beside = {other.algorithm: other.summary["best_accuracy"] for other in told.beside}
    return {**told.summary, "beside": beside}


def said(value: object) -> str:
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


def comparison_document(folders: Sequence[Path], target: float | None) -> Document:
    """Settings side by side, how sure their differences are, and curves with a band over seeds."""
    begun = [f for f in folders if has_rounds(f)]
    if not begun:
        raise RunFolderError("none of these runs has played a round yet")
    lines = compare(begun, target)
    tested = [line for line in lines if line.figures["best_accuracy"] is not None]
    return {
        "lines": [line_document(line) for line in lines],
        "differences": [asdict(d) for d in differences(lines)] if len(tested) > 1 else [],
        "meanings": FIGURES,
        "sections": [{"title": "", **split([draw(settings_of(lines)) for draw in COMPARISON])}],
    }


def line_document(line: Line) -> Document:
    figures = {key: None if found is None else asdict(found) for key, found in line.figures.items()}
    return {"name": line.name, "runs": len(line.runs), "complete": line.complete, "figures": figures}


def settings_of(lines: Sequence[Line]) -> list[Setting]:
    return [Setting(line.name, [read_run(path, beside=False) for path in line.runs]) for line in lines]


def has_rounds(folder: Path) -> bool:
    try:
        return (folder / "records.jsonl").stat().st_size > 0
    except OSError:
        return False


def figure_csv(folder: Path, key: str) -> str:
    """The table behind a figure of a run."""
    for figures in of_run(read_run(folder)).values():
        for figure in figures:
            if isinstance(figure, Figure) and figure.key == key:
                return figure.csv
    raise RunFolderError("the run has no such figure")


def split(drawn: Sequence[Drawn]) -> Document:
    """The figures, and why others are not there."""
    return {
        "figures": [figure_document(f) for f in drawn if isinstance(f, Figure)],
        "missing": [asdict(f) for f in drawn if not isinstance(f, Figure)],
    }


def figure_document(figure: Figure) -> Mapping[str, Any]:
    """A figure with colour tokens, which the page replaces by those of its theme."""
    return {
        "key": figure.key,
        "title": figure.title,
        "caption": figure.caption,
        "wide": figure.wide,
        "spec": figure.spec,
        "columns": list(figure.columns),
        "rows": list(figure.rows[:TABLE]),
        "more": max(0, len(figure.rows) - TABLE),
        "table": figure.table,
    }
