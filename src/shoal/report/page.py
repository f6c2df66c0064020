"""Puts a page together: figures, cards and tables into one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from shoal.errors import ShoalError
from shoal.experiment.compare import Line
from shoal.experiment.significance import differences
from shoal.report import headline
from shoal.report.figure import THEMES, Drawn, Figure, Missing
from shoal.report.figures import COMPARISON, of_run
from shoal.report.figures.compared import Setting
from shoal.report.figures.events import LISTED, listed
from shoal.report.figures.likeness import Place, components
from shoal.report.headline import Card, Sheet
from shoal.report.read import Told
from shoal.version import __version__

FOLDER = files("shoal.report")


@dataclass(frozen=True)
class Section:
    """A part of a page: figures, sentences for those that are missing, tables."""

    title: str
    figures: Sequence[Figure] = ()
    missing: Sequence[Missing] = ()
    sheets: Sequence[Sheet] = ()
    commands: Sequence[tuple[str, str]] = ()  # a word about it, and the command


@dataclass(frozen=True)
class Page:
    """All that a page shows."""

    title: str
    subtitle: str
    verdict: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    links: Sequence[tuple[str, str]] = ()  # name and address of other pages
    marked: frozenset[tuple[int, int]] = field(default_factory=frozenset)  # best cells of the first table

    @property
    def figures(self) -> list[Figure]:
        return [f for section in self.sections for f in section.figures]


def run_page(told: Told, place: Place = components) -> Page:
    """The page of one run."""
    sections = [section(title, drawn) for title, drawn in of_run(told, place).items()]
    sheets = {"What happened": events_sheets(told)}
    sections = [Section(s.title, s.figures, s.missing, sheets.get(s.title, ())) for s in sections]
    facts = (headline.settings_sheet(told), headline.environment_sheet(told))
    sections.append(Section("Repeat it", sheets=facts, commands=headline.commands(told)))
    title, verdict = headline.title_of(told), headline.verdict(told)
    return Page(title, headline.subtitle_of(told), verdict, headline.cards(told), sections)


def comparison_page(
    settings: Sequence[Setting], lines: Sequence[Line], target: float | None, links: Sequence[tuple[str, str]] = ()
) -> Page:
    """The page of several runs."""
    runs = [run for s in settings for run in s.runs]
    drawn = section("Curves", [draw(settings) for draw in COMPARISON])
    first = Section("Result", sheets=[headline.comparison_sheet(lines, target), headline.meaning_sheet(lines)])
    found = differences(lines) if len(lines) > 1 and any(line.figures["best_accuracy"] for line in lines) else []
    sure = [Section("Significance", sheets=[headline.differences_sheet(found)])] if found else []
    ran = Sheet(
        "Runs",
        ("setting", "seed", "folder"),
        [[s.name, str(r.config.get("seed")), r.path] for s in settings for r in s.runs],
        folded=True,
    )
    again = [("To run one of them again, with the same result:", f"shoal run {shlex.quote(runs[0].path)}/config.toml")]
    data = sorted({headline.called(r, "data") for r in runs})
    title = f"{len(settings)} settings on {', '.join(data)}"
    subtitle = (
        f"{len(runs)} runs · {' · '.join(s.name for s in settings)}" if len(settings) <= 8 else f"{len(runs)} runs"
    )
    return Page(
        title,
        subtitle,
        best_sentence(lines),
        (),
        [first, drawn, *sure, Section("Repeat it", sheets=[ran], commands=again)],
        links,
        headline.best_cells(lines),
    )


def best_sentence(lines: Sequence[Line]) -> str:
    known = [(line.figures["best_accuracy"], line.name) for line in lines if line.figures["best_accuracy"]]
    if not known:
        return "No run was tested yet."
    spread, name = max(known, key=lambda pair: pair[0].mean)
    assert spread is not None
    around = f" ± {100 * spread.std:.1f}" if spread.std is not None else ""
    return f"{name} has the highest best accuracy: {100 * spread.mean:.1f}{around} %."


def section(title: str, drawn: Sequence[Drawn]) -> Section:
    figures = [d for d in drawn if isinstance(d, Figure)]
    half = [f for f in figures if not f.wide]
    if len(half) % 2:  # nothing would stand beside the last one
        figures = [replace(f, wide=True) if f is half[-1] else f for f in figures]
    return Section(title, figures, [d for d in drawn if isinstance(d, Missing)])


def events_sheets(told: Told) -> list[Sheet]:
    rows, total = listed(told)
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
    scripts = [plotly_js(), *((static / name).read_text() for name in ("chart.js", "page.js"))]
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
        style=(static / "page.css").read_text(),
        scripts=scripts,
        hashes=[digest(script) for script in scripts],
        data=embedded(data),
        version=__version__,
    )


def figure_data(figure: Figure) -> dict[str, Any]:
    """What the page needs to draw a figure and to show its table."""
    return {**figure.spec, "csv": figure.csv, "open": figure.table}


def digest(script: str) -> str:
    """The name of a script in a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
