"""What the pages show of runs, as JSON: the page of the report, cut into the parts that a browser can renew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.report import page_of
from shoal.report.page import Page, figure_data

Document = dict[str, Any]


def document_of(folders: Sequence[Path], target: float | None = None) -> Document:
    """The page of a run, or of several side by side; runs that have just begun are left out."""
    begun = [folder for folder in folders if has_rounds(folder)]
    return as_document(page_of(begun, target)) if begun else {}


def has_rounds(folder: Path) -> bool:
    try:
        with open(folder / "records.jsonl", "rb") as file:
            return file.readline().endswith(b"\n")
    except OSError as e:
        raise RunFolderError("the records cannot be read") from e


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
            "sheets": [asdict(sheet) for sheet in section.sheets],
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
        "marked": sorted(page.marked),
    }
