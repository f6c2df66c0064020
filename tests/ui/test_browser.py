"""The pages in a real browser: the figures of the records, a comparison, a run that is followed, hostile names."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.report.conftest import PATIENCE, browser
from tests.report.records import regression
from tests.ui.conftest import HOSTILE, HOSTILE_RUN

from shoal.analysis.compare import compare
from shoal.store.folder import Folder
from shoal.store.sites_file import SiteSeen, SitesSeen, write_sites

pytest.importorskip("uvicorn", reason="needs uvicorn: pip install 'shoal[ui]'")
pytestmark = pytest.mark.slow
__all__ = ["browser"]
DRAWN = "() => document.querySelector('#figure-accuracy .plot')?.dataset.drawn"
LAST = "() => Math.max(...document.querySelector('#figure-accuracy .plot').data.at(-1).x)"  # the newest round drawn


@contextmanager
def shoal(*words: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """A command in the background, ended at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal.cli", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)  # against a test that hangs, not a measure of speed


@pytest.fixture(scope="module")
def shown(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the runs that others may add to."""
    return Path(shutil.copytree(folder, tmp_path_factory.mktemp("browser") / "runs"))


@pytest.fixture(scope="module")
def address(shown: Path) -> Iterator[str]:
    with shoal("ui", str(shown), "--port", "0", cwd=shown.parent) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+/", process.stdout.readline())
        assert found
        yield found[0]


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page of which nothing may complain, open a dialogue or ask another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    opened.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda e: wrong.append(str(e)))
    opened.on("dialog", lambda d: [wrong.append(f"dialogue {d.message}"), d.dismiss()])  # type: ignore[func-returns-value]
    opened.on("request", lambda r: wrong.append(r.url) if not r.url.startswith((address, "data:", "blob:")) else None)
    yield opened
    context.close()
    assert wrong == []


def row(page: Any, path: str) -> Any:
    return page.locator(f"tr[data-path={css(path)}]")


def css(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_the_list_says_what_the_records_say(page: Any, address: str, shown: Path) -> None:
    page.goto(address)
    page.wait_for_selector("tbody tr")
    for name in ("fedavg", "ifca"):
        cells = row(page, f"sweep/{name}-seed=1").locator("td.number").all_inner_texts()
        summary = Folder(shown / "sweep" / f"{name}-seed=1").summary()
        assert summary is not None
        want = [summary["last_accuracy"], summary["best_accuracy"], summary["last_worst"]]
        assert [c.strip() for c in cells[:3]] == [f"{100 * v:.1f}" for v in want]
        assert cells[3] == str(summary["groups"])


def test_the_filter_and_the_order(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("tbody tr")
    everything = page.locator("tr[data-path]").count()
    page.fill("#filter", "ifca seed=1")
    assert page.locator("tr[data-path]").count() == 1 < everything
    page.fill("#filter", "no such thing")
    assert page.locator("tbody tr").count() == 0
    page.fill("#filter", "sweep")
    page.get_by_role("button", name="best %").click()
    best = [float(t) for t in page.locator("tr[data-path] td.number:nth-of-type(6)").all_inner_texts()]
    assert best == sorted(best, reverse=True)
    assert len(best) == 4


def test_a_run_shows_its_records(page: Any, address: str, shown: Path) -> None:
    page.goto(address)
    row(page, "sweep/ifca-seed=0").get_by_role("link").click()
    page.wait_for_function(DRAWN)
    folder = Folder(shown / "sweep" / "ifca-seed=0")
    summary, history = folder.summary(), folder.history()
    assert summary is not None
    for key in ("best_accuracy", "last_three_accuracy", "last_worst", "last_three_f1"):
        assert page.locator(f"[data-key={key}] .value").inner_text() == f"{100 * summary[key]:.1f} %"
    assert page.locator("#round").inner_text() == "round 3 of 3"
    drawn = page.evaluate(
        "() => document.querySelector('#figure-accuracy .plot').data.find(t => t.name === 'all clients')"
    )
    assert drawn["x"] == [r["round"] for r in history[1:]]
    assert drawn["y"] == [round(100 * r["accuracy"], 2) for r in history[1:]]
    assert page.locator(".problem").inner_text() == ""


def test_a_comparison_by_clicks(page: Any, address: str, shown: Path) -> None:
    page.goto(address)
    page.wait_for_selector("tbody tr")
    assert "off" in page.locator("#compare").get_attribute("class")
    page.fill("#filter", "sweep")
    page.get_by_role("button", name="all shown").click()
    assert page.locator("#compare").inner_text() == "compare 4"
    page.click("#compare")
    page.wait_for_function(DRAWN)
    table = page.locator("table").first.locator("tbody tr").all()
    rows = {row.locator("td").first.inner_text(): row.locator("td").all_inner_texts() for row in table}
    for line in compare([shown / "sweep"]):
        figure = line.figures["best_accuracy"]
        assert figure is not None
        assert rows[line.name][1:3] == ["2", f"{100 * figure.mean:.1f} ± {100 * (figure.std or 0):.1f}"]
    assert "exact sign flips cannot give a p below 0.5" in page.locator("main").inner_text()
    page.fill("#target", "1")
    page.press("#target", "Enter")
    page.wait_for_selector("text=rounds to target")


def test_a_sweep_is_one_line_that_folds_and_chooses_its_runs(page: Any, address: str) -> None:
    page.goto(address)
    sweep = page.locator("tr[data-sweep=sweep]")
    assert "4 runs · fedavg, ifca" in sweep.inner_text() and "4 / 4 runs" in sweep.inner_text()
    inner = page.locator("tr.inner")
    assert inner.count() == 4
    assert inner.first.get_by_role("link").inner_text() in {f"{a}-seed={s}" for a in ("fedavg", "ifca") for s in (0, 1)}
    fold = sweep.get_by_role("button")
    fold.press("Enter")
    assert inner.count() == 0 and fold.get_attribute("aria-expanded") == "false"
    page.fill("#filter", "ifca seed=1")
    assert inner.count() == 1  # what is looked for is shown
    page.fill("#filter", "")
    sweep.get_by_role("checkbox").check()
    assert page.locator("#compare").inner_text() == "compare 4"
    sweep.get_by_role("link", name="compare").click()
    page.wait_for_function(DRAWN)


def test_the_keyboard_stays_where_it_was_when_runs_change(page: Any, address: str, shown: Path) -> None:
    page.goto(address)
    focus = "() => document.activeElement.dataset.focus ?? document.activeElement.tagName"
    path = "sweep/ifca-seed=1"
    row(page, path).get_by_role("checkbox").press("Space")  # the list is made anew
    assert page.evaluate(focus) == f"tick {path}"
    page.get_by_role("button", name="ARI").press("Enter")
    assert page.evaluate(focus) == "head ARI"
    row(page, path).get_by_role("link").focus()
    shutil.copytree(shown / path, shown / "another")
    try:
        row(page, "another").wait_for()  # news from the server
        assert page.evaluate(focus) == f"run {path}"
        page.keyboard.press("Enter")
        page.wait_for_function(DRAWN)
        page.locator("#figure-accuracy .legend button").first.press("Enter")  # the figure is drawn anew
        page.wait_for_selector("#figure-accuracy .legend button[aria-pressed=false]")
        assert page.evaluate(focus) == "legend group 0"
        summary = page.locator("details.sheet summary").first
        summary.press("Enter")
        records = shown / path / "records.jsonl"
        kept = records.read_text()
        records.write_text(kept.rsplit("\n", 2)[0] + "\n")  # one round less, so that the page is asked for again
        page.wait_for_function("() => document.getElementById('round').textContent === 'round 2 of 3'")
        page.wait_for_function("() => document.querySelector('.subtitle').textContent.startsWith('2 ')")
        assert str(page.evaluate(focus)).startswith("sheet ")
        records.write_text(kept)
    finally:
        shutil.rmtree(shown / "another")


def test_a_page_says_that_it_is_loading(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("tbody tr")
    page.route("**/api/page*", lambda route: None)  # an answer that never comes
    page.goto(f"{address}#/run/{quote('sweep/ifca-seed=0', safe='')}")
    page.wait_for_selector(".problem")
    assert page.locator(".problem").inner_text() == "loading …"
    page.unroute_all(behavior="ignoreErrors")


def test_a_score_that_is_no_share_is_shown_and_aimed_at_as_it_is(page: Any, address: str, shown: Path) -> None:
    for name, values in (("fedavg", [0.9, 0.6]), ("ifca", [0.5, 0.25])):
        regression(shown / f"rmse-{name}", values, name)
    try:
        page.goto(address)
        row(page, "rmse-ifca").wait_for()
        cells = row(page, "rmse-ifca").locator("td.number").all_inner_texts()
        assert [c.split() for c in cells[:3]] == [["0.25", "RMSE"], ["0.25"], ["0.275"]]
        page.fill("#filter", "rmse")
        page.get_by_role("button", name="best").click()
        assert page.locator("tr[data-path] .name a").all_inner_texts() == ["rmse-ifca", "rmse-fedavg"]  # the best first
        page.get_by_role("button", name="all shown").click()
        page.click("#compare")
        page.wait_for_selector("#figure-rmse")
        assert page.inner_text("label").strip() == "target RMSE"
        page.fill("#target", "0.55")
        page.press("#target", "Enter")
        page.wait_for_selector("text=rounds to target")
        table = page.locator("table").first
        head = table.locator("th").all_inner_texts().index("rounds to target")
        rounds = [row.locator("td").all_inner_texts()[head] for row in table.locator("tbody tr").all()]
        assert rounds == ["1", "-"]  # as they were chosen: the best first
    finally:
        for name in ("fedavg", "ifca"):
            shutil.rmtree(shown / f"rmse-{name}")


def test_a_running_run_is_followed(page: Any, address: str, shown: Path) -> None:
    page.goto(address)
    page.wait_for_selector("tbody tr")
    with shoal("run", "ifca", "groups=2", "rounds=1000000", "engine=serial", "out=runs/live", cwd=shown.parent):
        row(page, "live").get_by_role("link").click()
        page.wait_for_selector(".state.running")
        page.wait_for_function(DRAWN)
        before = page.evaluate(LAST)
        page.wait_for_function("before => (" + LAST + ")() > before", arg=before)
        assert int(re.findall(r"\d+", page.locator("#round").inner_text())[0]) > before
    played = Folder(shown / "live").history()[-1]["round"]
    page.wait_for_function("played => (" + LAST + ")() === played", arg=played)


def test_the_sites_of_a_federation_are_followed(page: Any, address: str, shown: Path) -> None:
    """The table is drawn again when the server looks again, though no round has ended."""
    run = shown / "sweep" / "fedavg-seed=1"
    gone = SiteSeen("8", HOSTILE[0], 1, ("bob",), "offline", went=2, late=1, reason="round 2: late")
    cells = (
        "() => [...document.querySelectorAll('section tbody tr')].slice(0, 2).map((row) => row.children[3].textContent)"
    )
    write_sites(run, SitesSeen(100.0, 2, (SiteSeen("7", "north", 1, ("ann",)), gone)))
    try:
        page.goto(f"{address}#/run/{quote('sweep/fedavg-seed=1', safe='')}")
        page.wait_for_function(f"() => String(({cells})()) === 'online,offline since round 2'")
        assert page.inner_text("[data-key=sites] .value") == "1 of 2"
        assert HOSTILE[0] in page.inner_text("section table") and "round 2: late" in page.inner_text("section table")
        write_sites(run, SitesSeen(110.0, 2, (SiteSeen("7", "north", 1, ("ann",)), replace(gone, state="online"))))
        page.wait_for_function(f"() => String(({cells})()) === 'online,online'")
        assert page.inner_text("[data-key=sites] .value") == "2 of 2"
    finally:
        (run / "sites.json").unlink()


def test_hostile_names_are_shown_as_text(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("tbody tr")
    link = row(page, HOSTILE_RUN).get_by_role("link")
    assert link.inner_text() == HOSTILE_RUN
    link.click()
    page.wait_for_function(DRAWN)
    assert page.locator("h1").inner_text() == HOSTILE_RUN
    for plot in page.locator(".plot").all():
        plot.scroll_into_view_if_needed()
        plot.hover()
    page.wait_for_function("() => [...document.querySelectorAll('.plot')].every(p => p.dataset.drawn)")
    page.evaluate("() => document.querySelectorAll('details').forEach(one => (one.open = true))")
    for name in HOSTILE:
        page.wait_for_function("name => document.getElementById('page').textContent.includes(name)", arg=name)
    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("() => [...document.scripts].every(s => s.src.startsWith(location.origin))")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(browser: Any, address: str, theme: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=theme)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    places = ("", "#/run/sweep%2Fifca-seed%3D0", "#/compare/sweep%2Fifca-seed%3D0/sweep%2Ffedavg-seed%3D0")
    for place in places:
        page.goto(address + place)
        if place:
            page.locator("#figure-accuracy").scroll_into_view_if_needed()  # a figure is drawn when it is seen
        page.wait_for_function(DRAWN if place else "() => document.querySelector('tbody tr')")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="theme").click()
    assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
    context.close()
