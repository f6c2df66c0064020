"""Pages in a browser: they show the numbers of the records, load nothing, and run nothing that is not theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import PATIENCE
from tests.report.records import HOSTILE

from shoal.report import report, write
from shoal.report.figure import Figure
from shoal.report.headline import Sheet
from shoal.report.page import Page, Section
from shoal.store.folder import Folder


@dataclass
class Opened:
    """A page, what it wrote to the console and what it asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def all_drawn(self) -> None:
        self.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.page.wait_for_selector(".plot:not([data-drawn])", state="detached")


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens a file; in the end nothing may have been said or asked for elsewhere."""
    pages: list[Opened] = []

    def visit(path: Path, width: int = 1280, scheme: str = "light") -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
        found = Opened(context.new_page())
        found.page.on("console", lambda m: found.said.append(f"{m.type}: {m.text}"))
        found.page.on("pageerror", lambda e: found.said.append(f"error: {e}"))
        found.page.on("dialog", found.dismiss)
        found.page.on("request", lambda r: found.asked.append(r.url))
        found.page.goto(path.resolve().as_uri())
        found.all_drawn()
        pages.append(found)
        return found

    yield visit
    for found in pages:
        assert not found.said
        assert not [url for url in found.asked if not url.startswith(("file:", "data:", "blob:"))]
        found.page.context.close()


@pytest.mark.parametrize("name", ["flexcfl", "cfl", "wecfl"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_shows_the_records(runs: dict[str, Path], opened: Open, name: str, width: int, scheme: str) -> None:
    folder = Folder(runs[name])
    summary, history = folder.summary() or {}, folder.history()
    page = opened(report([runs[name]]), width, scheme).page
    best = page.inner_text("[data-key=best_accuracy] .value")
    assert best == f"{100 * summary['best_accuracy']:.1f} %"
    assert page.inner_text("[data-key=groups] .value") == str(summary["groups"])
    last = "const t = document.querySelector('[data-figure=accuracy]').data.at(-1); return t.y.at(-1)"
    assert page.evaluate(f"(() => {{ {last} }})()") == round(100 * history[-1]["accuracy"], 2)
    assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing sticks out
    shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shown == ("rgb(246, 247, 249)" if scheme == "light" else "rgb(17, 21, 27)")


def test_names_are_shown_and_never_run(runs: dict[str, Path], opened: Open) -> None:
    page = opened(report([runs["given"]])).page
    legend = page.inner_text("#figure-sizes .legend")
    assert HOSTILE[1] in legend
    assert page.locator("img").count() == 0
    page.locator("#figure-clients details summary").click()
    page.wait_for_selector("#figure-clients details table")  # made when the details open, after the click
    table = page.inner_text("#figure-clients details")
    assert all(name in table for name in HOSTILE)
    assert any("<script>alert" in tick for tick in page.locator("#figure-clients .ytick").all_text_contents())


def test_choices_and_legends_work(runs: dict[str, Path], opened: Open) -> None:
    page = opened(report([runs["cfl"]])).page
    visible = "document.querySelector('[data-figure=similarity]').data.map(t => t.visible)"
    before, last = page.evaluate(visible), page.locator("#figure-similarity .choice button").last
    assert before.index(True) < len(before) - 1
    last.click()
    page.wait_for_selector("#figure-similarity .choice button[aria-pressed=true]:last-child")
    assert page.evaluate(visible) == [False] * (len(before) - 1) + [True]
    page.locator("#figure-accuracy .legend button").first.click()
    page.wait_for_selector("#figure-accuracy .legend button[aria-pressed=false]")
    assert page.evaluate("document.querySelector('[data-figure=accuracy]').data[0].visible") is False


def test_legends_show_the_markers_that_are_drawn(tmp_path: Path, opened: Open) -> None:
    """Discs are discs, crosses are crosses and squares are squares."""
    marks = {"discs": "circle", "crosses": "x", "squares": "square"}
    at_one = {"type": "scatter", "mode": "markers", "x": [1], "y": [1]}
    traces = [{**at_one, "name": name, "marker": {"symbol": s, "color": "@g0"}} for name, s in marks.items()]
    figure = Figure("marks", "Marks", "", ("x",), [[1]], traces)
    page = opened(write(Page("Marks", "", "", (), [Section("Marks", [figure])]), tmp_path / "page.html")).page
    shapes = page.locator(".legend button svg > *").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    assert shapes[0] is None and shapes[1] and shapes[2] and shapes[1] != shapes[2]


def test_a_comparison_shows_its_table_and_leads_to_its_runs(
    runs: dict[str, Path], opened: Open, tmp_path: Path
) -> None:
    report([runs["wecfl"]])
    page = opened(report([runs["wecfl"], runs["fedavg"]], tmp_path / "page.html")).page
    best = (Folder(runs["wecfl"]).summary() or {})["best_accuracy"]
    row = page.locator("#s1 tbody tr", has_text="wecfl").first.inner_text().split("\t")
    assert row[2] == f"{100 * best:.1f}"
    page.click(".links a")
    page.wait_for_selector("[data-key=best_accuracy]")
    assert page.inner_text("h1").startswith("wecfl")


def test_tables_of_words_fit_the_page(tmp_path: Path, opened: Open) -> None:
    """Long cells break; figures with their spread do not, so that a table of many of them may be wider than a phone."""
    words = "FlexCFL is not below IFCA as the authors' code averages it on FEMNIST-MCLR"
    row = [words, "ours, of the script", "at least -2.5 and at most +2.5", "-10.20", f"+2.98 ± 1.39, {words}", words]
    sheet = Sheet("Statements", ("statement", "where", "asked for", "paper", "ours", "verdict"), [row] * 3)
    written = write(Page("Words", "", "", (), [Section("Statements", sheets=[sheet])]), tmp_path / "page.html")
    page = opened(written).page
    assert page.evaluate("(b => b.scrollWidth - b.clientWidth)(document.querySelector('section > .scroll'))") == 0
    spaces = [
        td.evaluate("td => getComputedStyle(td).whiteSpace")
        for td in page.locator("tbody tr").first.locator("td").all()
    ]
    assert spaces == ["normal", "nowrap", "normal", "nowrap", "normal", "normal"]
