"""What the pages show of runs, as JSON: the page of the report, cut into the parts that a browser can renew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.report import page_of_runs
from shoal.report.loaded_run import strange_files
from shoal.report.page import Page, figure_data

Document = dict[str, Any]


def document_of(folders: Sequence[Path], root: Path, target: float | None = None) -> Document:
    """The page of a run, or of several side by side; runs that have just begun are left out.

    Args:
        folders: of the runs.
        root: the folder that is shown; nothing outside is read.
        target: a value of the score; a comparison then tells how many rounds and megabytes it took.

    Returns:
        The page for a browser; empty if no run has begun.
    """
    begun = [folder for folder in folders if has_rounds(folder)]
    return as_document(page_of_runs(begun, target, inside=root)) if begun else {}


def has_rounds(folder: Path) -> bool:
    """Whether a round is recorded; a folder with links in it is refused, for they may lead anywhere."""
    try:
        if strange := strange_files(folder):
            raise RunFolderError(linked(strange))
        with open(folder / "records.jsonl", "rb") as file:
            return file.readline().endswith(b"\n")
    except OSError as e:
        raise RunFolderError("the records cannot be read") from e


def linked(strange: Sequence[str]) -> str:
    """Why a folder is not read."""
    return f"{strange[0]} in this folder is a link, or no file; such folders are not read"


def as_document(page: Page) -> Document:
    """A page with plain text in it; figures have colour tokens, which the browser replaces by those of its theme."""
    sections = [
        {
            "title": section.title,
            "figures": [
                {
                    "key": figure.key,
                    "title": figure.title,
                    "caption": figure.caption,
                    "wide": figure.wide,
                    "height": figure.height,
                    "spec": figure_data(figure),
                }
                for figure in section.figures
            ],
            "missing": [asdict(gap) for gap in section.missing],
            "sheets": [{**asdict(sheet), "marked": sorted(sheet.marked)} for sheet in section.sheets],
            "commands": list(section.commands),
        }
        for section in page.sections
    ]
    return {
        "title": page.title,
        "subtitle": page.subtitle,
        "verdict": page.verdict,
        "cards": [asdict(card) for card in page.cards],
        "sections": sections,
    }
