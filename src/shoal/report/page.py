"""Puts a page together: figures, cards and tables into one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from shoal.analysis.compare import Line, figures_for
from shoal.analysis.significance import differences
from shoal.errors import ShoalError, command
from shoal.report import headline
from shoal.report.figure import Figure, FigureOrReason, NoFigure
from shoal.report.figures import COMPARISON, of_run
from shoal.report.figures.compared import Setting
from shoal.report.figures.events import LISTED, listed
from shoal.report.figures.similarity import Place, components
from shoal.report.headline import Card, Sheet
from shoal.report.loaded_run import LoadedRun
from shoal.report.sites import site_card, site_sheets
from shoal.report.story import comparison_story, run_story
from shoal.report.theme import THEMES
from shoal.version import __version__

FOLDER = files("shoal.report")
SHORT = 24  # characters of a cell that stays on one line; longer ones may break, so that tables fit the page


@dataclass(frozen=True)
class Section:
    """A part of a page: figures, sentences for those that are missing, tables, and words above and below all that."""

    title: str
    figures: Sequence[Figure] = ()
    missing: Sequence[NoFigure] = ()
    sheets: Sequence[Sheet] = ()
    commands: Sequence[tuple[str, str]] = ()  # a word about it, and the command
    label: str = ""  # in the list of sections, if not the title
    words: Sequence[str] = ()  # paragraphs above its figures
    notes: Sequence[str] = ()  # paragraphs below its tables


@dataclass(frozen=True)
class Page:
    """All that a page shows."""

    title: str
    subtitle: str
    verdict: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    links: Sequence[tuple[str, str]] = ()  # name and address of other pages

    @property
    def figures(self) -> list[Figure]:
        return [f for section in self.sections for f in section.figures]


def run_page(loaded: LoadedRun, place: Place = components) -> Page:
    """The page of one run."""
    sections = [section(title, drawn) for title, drawn in of_run(loaded, place).items()]
    sheets = {"What happened": events_sheets(loaded)}
    sections = [Section(s.title, s.figures, s.missing, sheets.get(s.title, ())) for s in sections]
    if sites := site_sheets(loaded):
        sections.insert(0, Section("Sites", sheets=sites))
    why = headline.decision_sheet(loaded)
    sections = [Section("Why this method", sheets=[why]), *sections] if why is not None else sections
    facts = (headline.settings_sheet(loaded), headline.environment_sheet(loaded))
    sections.append(Section("Repeat it", sheets=facts, commands=headline.commands(loaded)))
    title, verdict = headline.title_of(loaded), run_story(loaded)
    cards = [*headline.cards(loaded), *(card for card in [site_card(loaded)] if card is not None)]
    return Page(title, headline.subtitle_of(loaded), verdict, cards, sections)


def comparison_page(
    settings: Sequence[Setting], lines: Sequence[Line], target: float | None, links: Sequence[tuple[str, str]] = ()
) -> Page:
    """The page of several runs."""
    runs = [run for s in settings for run in s.runs]
    drawn = section("Curves", [draw(settings) for draw in COMPARISON])
    first = Section("Result", sheets=headline.comparison_sheets(lines, target))
    best = figures_for(lines)[lines[0].score.key("best")]
    found = differences(lines) if len(lines) > 1 and any(line.figures[best.key] for line in lines) else []
    sure = [Section("Significance", sheets=[headline.differences_sheet(found, best)])] if found else []
    ran = Sheet(
        "Runs",
        ("setting", "seed", "folder"),
        [[s.name, str(r.config.get("seed")), r.path] for s in settings for r in s.runs],
        folded=True,
    )
    again = [("To run one of them again, with the same result:", command("run", Path(runs[0].path) / "config.toml"))]
    data = sorted({headline.called(r, "data") for r in runs})
    title = f"{len(settings)} settings on {', '.join(data)}"
    subtitle = (
        f"{len(runs)} runs · {' · '.join(s.name for s in settings)}" if len(settings) <= 8 else f"{len(runs)} runs"
    )
    return Page(
        title,
        subtitle,
        comparison_story(lines, {s.name: s.runs[0].algorithm for s in settings}),
        (),
        [first, drawn, *sure, Section("Repeat it", sheets=[ran], commands=again)],
        links,
    )


def section(title: str, drawn: Sequence[FigureOrReason]) -> Section:
    figures = [d for d in drawn if isinstance(d, Figure)]
    half = [f for f in figures if not f.wide]
    if len(half) % 2:  # nothing would stand beside the last one
        figures = [replace(f, wide=True) if f is half[-1] else f for f in figures]
    return Section(title, figures, [d for d in drawn if isinstance(d, NoFigure) and d.reason])


def events_sheets(loaded: LoadedRun) -> list[Sheet]:
    rows, total = listed(loaded)
    if not rows:
        return []
    note = f"The first {LISTED} of {total:,}; all are in events.jsonl." if total > len(rows) else ""
    return [
        Sheet(
            f"Events ({total:,})",
            ("round", "kind", "what"),
            [[str(t), kind, said] for t, kind, said in rows],
            note,
            True,
        )
    ]


def embedded(value: Any) -> str:
    """JSON that may stand inside a script element: no character in it can end the element.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    found = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        found = found.replace(letter, f"\\u{ord(letter):04x}")
    return found


def plotly_js() -> str:
    """The drawing library, from the plotly package; a sentence if it is not there."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as e:
        raise missing_extra(e) from e
    return str(get_plotlyjs())


def missing_extra(error: ImportError) -> ShoalError:
    return ShoalError(f"a report needs {error.name}, which is not installed; run: pip install 'shoal[report]'")


def render(page: Page) -> str:
    """The page as HTML. Scripts run only if their hash is in the page's own policy, and nothing is ever loaded."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as e:
        raise missing_extra(e) from e
    static = FOLDER / "static"
    scripts = [plotly_js(), *((static / name).read_text(encoding="utf-8") for name in ("chart.js", "page.js"))]
    data = {"figures": {f.key: figure_data(f) for f in page.figures}}
    jinja = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return jinja.get_template("page.html").render(
        page=page,
        themes=THEMES,
        style=(static / "page.css").read_text(encoding="utf-8"),
        scripts=scripts,
        hashes=[digest(script) for script in scripts],
        data=embedded(data),
        version=__version__,
        short=SHORT,
    )


def figure_data(figure: Figure) -> dict[str, Any]:
    """What the page needs to draw a figure and to show its table."""
    return {**figure.spec, "csv": figure.csv, "open": figure.table}


def digest(script: str) -> str:
    """The name of a script in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
