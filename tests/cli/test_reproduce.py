"""`shoal reproduce` lists, runs, resumes and prints a small recipe; its words and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal

from shoal.cli.reproduce_tables import list_line
from shoal.recipes import Cell, Paper, Table
from shoal.recipes.records import Panel
from shoal.recipes.runs.pace import paces
from shoal.recipes.runs.single import Job
from shoal.recipes.store import EMPTY, Result, Store

Watch = Callable[[Job, int, int], object]
KEYS = {"data": "digits", "partition": "iid:clients=4", "rounds": 2, "lr": 0.1}


def cell(row: str, column: str, why_not: str = "") -> Cell:
    return Cell("toy/table1", row, column, column, KEYS, {"best_accuracy": 90.0}, 2, 3.0, why_not=why_not)


TOY = Table(
    "toy/table1",
    "Two methods",
    (cell("digits", "fedavg"), cell("digits", "local"), cell("tweets", "fedavg", why_not="the data is gone")),
)


FIGURE = Table("toy/fig1", "Curves", panels=(Panel("accuracy", "accuracy", ("toy/table1/digits/local",)),))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shoal.recipes.PAPERS", {"toy": Paper("toy", "A toy", "Nobody 2000", (TOY, FIGURE))})
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("toy")
def test_the_list_says_how_far_and_what_is_left(shoal: Shoal) -> None:
    [line, _] = json.loads(shoal("reproduce", "--format", "json").stdout)["tables"]
    assert (line["cells"], line["done"], line["not_run"], line["cannot_run_here"]) == (3, 0, 2, 1)
    assert line["minutes_left"] == 12 and not line["measured"]  # two cells, two seeds, three minutes each
    text = shoal("reproduce").stdout.splitlines()
    assert text[1].split() == ["toy/table1", "3", "0", "0", "2", "1", "~12", "min", "Two", "methods"]
    assert text[2].split() == ["toy/fig1", "1", "0", "0", "1", "0", "~6", "min", "Curves"]


@pytest.mark.usefixtures("toy")
def test_minutes_are_measured_where_a_run_of_the_row_is_there() -> None:
    """One of four runs of the row took 30 s where three minutes are stated: three more of 30 s."""
    cell = TOY.cells[0]
    Store("results").save(cell, Result(cell.settings, {0: {**EMPTY, "complete": True, "seconds": 30.0}}))
    known = paces([(c, Store("results").load(c)) for c in TOY.cells])
    line = list_line(TOY, TOY.cells, Store("results"), None, known)
    assert line["minutes_left"] == 1.5 and line["measured"]


@pytest.mark.usefixtures("toy")
def test_a_row_is_run_once_and_printed_beside_the_paper(shoal: Shoal) -> None:
    done = shoal("reproduce", "toy/table1", "rows=digits", "seeds=1", "engine=serial", "--quiet")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("digits")]
    assert [row[:2] for row in rows] == [["digits", "fedavg"], ["digits", "local"]]
    assert rows[0][5] == "90.0" and rows[0][7] == "(1)" and float(rows[0][8]) == pytest.approx(float(rows[0][6]) - 90)
    files = sorted(Path("results").rglob("*.json"))
    before = [path.read_bytes() for path in files]
    assert [path.name for path in files] == ["fedavg.json", "local.json"]
    again = shoal("reproduce", "toy/table1", "rows=digits", "seeds=1", "--quiet")
    assert again.stdout == done.stdout and [path.read_bytes() for path in files] == before
    [line, _] = json.loads(shoal("reproduce", "--list", "--format", "json", "seeds=1").stdout)["tables"]
    assert line["done"] == 2 and line["minutes_left"] == 0


@pytest.mark.usefixtures("toy")
def test_what_is_ahead_is_said_first(shoal: Shoal) -> None:
    """Two cells with two seeds of three minutes; a figure has one of them, of a table that is not asked for."""
    table, figure = (
        shoal("reproduce", f"toy/{name}", "engine=serial", "--budget", "0.000001s").stderr.splitlines()[0]
        for name in ("table1", "fig1")
    )
    assert table == "runs to play: 4; time: ~12 min"
    assert figure == "runs to play: 2 (2 of other tables, which are drawn too); time: ~6 min"


@pytest.mark.usefixtures("toy")
def test_two_runs_side_by_side_print_what_one_by_one_print(shoal: Shoal) -> None:
    both = shoal("reproduce", "toy/table1", "seeds=1", "engine=serial", "jobs=2")
    assert both.stderr.splitlines()[0] == "runs to play: 2; time: ~3 min" and "2/2 toy/table1/digits/" in both.stderr
    shoal("reproduce", "toy/table1", "seeds=1", "engine=serial", "--quiet", "--results", "alone")
    assert shoal("reproduce", "toy/table1", "--list", "seeds=1", "--results", "alone").stdout == both.stdout


@pytest.mark.usefixtures("toy")
def test_a_budget_that_is_over_leaves_runs_for_the_next_call(shoal: Shoal) -> None:
    first = shoal("reproduce", "toy", "columns=fedavg", "engine=serial", "--budget", "0.000001s", "--format", "json")
    assert "2 of 2 runs are left; the same command goes on with them" in first.stderr
    states = [line["state"] for line in json.loads(first.stdout)["cells"]]
    assert states[0] in ("not run", "partial") and states[1] == "cannot run here"  # before a run, or after a round
    second = shoal("reproduce", "toy", "columns=fedavg", "engine=serial", "--format", "json", "-q")
    found = {line["cell"]: line for line in json.loads(second.stdout)["cells"]}
    mine = found["toy/table1/digits/fedavg"]
    assert mine["state"] == "done" and set(mine["values"]["best_accuracy"]) == {"0", "1"}
    assert mine["ours"]["best_accuracy"]["n"] == 2
    assert found["toy/table1/tweets/fedavg"]["note"] == "the data is gone"


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("begun", "where"), [(0, "interrupted; "), (1, "interrupted in toy/table1/digits/fedavg seed 0; ")]
)
def test_an_interruption_names_the_run_that_was_on(
    shoal: Shoal, begun: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(
        todo: list[Job], store: Store, work: Path, backend: object, seconds: None, watch: Watch, **_: bool
    ) -> None:
        for job in todo[:begun]:
            watch(job, 1, len(todo))
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.recipes.runs.play.play", play)
    found = shoal("reproduce", "toy/table1")
    assert found.exit_code == 130
    assert found.stderr.splitlines()[-1] == f"{where}complete runs are in results, the same command goes on"


@pytest.mark.usefixtures("toy")
def test_a_figure_is_run_by_its_name(shoal: Shoal) -> None:
    done = shoal("reproduce", "toy/fig1", "seeds=1", "engine=serial", "--quiet")
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith("table1/digits")]
    assert row[1] == "local" and row[7] == "(1)"
    assert [path.name for path in Path("results").rglob("*.json")] == ["local.json"]
    [cell] = json.loads(shoal("reproduce", "toy/fig1", "--list", "--format", "json").stdout)["cells"]
    assert cell["cell"] == "toy/table1/digits/local"
    whole = json.loads(shoal("reproduce", "toy", "--list", "--format", "json").stdout)["cells"]
    assert len(whole) == 3  # no cell twice


@pytest.mark.usefixtures("toy")
def test_rows_are_named_as_figures_list_them(shoal: Shoal) -> None:
    listed = shoal("reproduce", "toy/fig1", "--list").stdout
    row = next(line.split()[0] for line in listed.splitlines() if "digits" in line)
    assert shoal("reproduce", "toy/fig1", "--list", f"rows={row}").stdout == listed
    [cell] = json.loads(shoal("reproduce", "toy", "--list", "rows=table1/t*", "--format", "json").stdout)["cells"]
    assert cell["cell"] == "toy/table1/tweets/fedavg"


@pytest.mark.usefixtures("toy")
def test_tables_without_the_row_that_is_asked_for_are_left_out(shoal: Shoal) -> None:
    assert "toy/fig1" not in shoal("reproduce", "toy", "--list", "rows=tweets").stdout
    assert "toy/fig1" not in shoal("reproduce", "--list", "columns=fedavg").stdout
    both = shoal("reproduce", "toy", "--list", "columns=local").stdout.splitlines()
    assert both[-3:-1] == ["toy/fig1: Curves", "Draws cells of toy/table1."]


@pytest.mark.usefixtures("toy")
def test_a_page_is_written_beside_the_table(shoal: Shoal) -> None:
    text = shoal("reproduce", "toy", "--list", "--html", "pages").stdout
    assert "toy/table1: Two methods" in text and text.rstrip().endswith("toy.html")
    found = shoal("reproduce", "toy", "--list", "--html", "pages", "--format", "json")
    assert len(json.loads(found.stdout)["cells"]) == 3 and "toy.html" in found.stderr


@pytest.mark.usefixtures("toy")
def test_a_file_where_the_folder_of_pages_should_be_is_a_sentence(shoal: Shoal) -> None:
    Path("pages").write_text("")
    found = shoal("reproduce", "toy", "--list", "--html", "pages")
    assert found.exit_code == 4 and "choose another --html DIR" in found.stderr and not found.stdout


@pytest.mark.usefixtures("toy")
def test_a_file_with_a_run_that_lacks_something_is_a_sentence(shoal: Shoal) -> None:
    shoal("reproduce", "toy", "columns=local", "seeds=1", "engine=serial", "--quiet")
    path = Path("results/toy/table1/digits/local.json")
    path.write_text(path.read_text().replace('"complete":true,', ""))
    found = shoal("reproduce", "toy", "--list")
    assert found.exit_code != 0
    assert "local.json cannot be read as the result of a cell: it has no 'complete'" in found.stderr


@pytest.mark.usefixtures("toy")
def test_markdown(shoal: Shoal) -> None:
    text = shoal("reproduce", "toy", "--list", "--format", "markdown").stdout
    assert "| tweets | fedavg | accuracy, best % | 90.0 | - | - | cannot run here |" in text
    assert "tweets cannot be run here: the data is gone" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["toy/table9"], "shoal: unknown table 'toy/table9'"),
        (["toy", "rows=letters"], "shoal: unknown row 'letters'"),
        (["toy", "columns=ifca"], "shoal: unknown column 'ifca'"),
        (["toy", "seeds=0"], "shoal: seeds=0 is not possible: give a whole number from 1 on"),
        (["toy", "rows="], "shoal: rows= has no value; write rows=VALUE, or leave it out"),
        (["toy", "rows=,"], "shoal: rows= has no value; write rows=VALUE, or leave it out"),
        (["toys"], "shoal: unknown table 'toys'; did you mean 'toy'? Known: toy. `shoal reproduce` lists all."),
        (["toy", "jobs=many"], "shoal: jobs=many is not possible: give a whole number from 1 on"),
        (["toy", "jobs=2", "engine=ray"], "shoal: jobs= plays runs side by side on this machine, and engine=ray is"),
        (["toy", "lr=0.1"], "shoal: lr= is not a key of reproduce"),
        (["toy", "--budget", "soon"], "shoal: --budget soon is not a time; write 90s, 150m or 8h"),
        (["seeds=2"], "shoal: seeds= is about runs, and none is asked for; name a table, such as flexcfl/table3"),
        (["rows=digits"], "shoal: rows= is about runs, and none is asked for"),
        (["--budget", "9s"], "shoal: --budget is about runs, and none is asked for"),
        (["toy", "--list", "--again"], "shoal: --again is about runs and does not go with --list, which runs nothing"),
        (["toy", "--list", "--budget", "9s"], "shoal: --budget is about runs and does not go with --list"),
        (["toy", "--relations", "rows=classes-1"], "shoal: rows= chooses cells, and --relations shows statements"),
        (["toy", "--relations", "--keep"], "shoal: --keep is about runs and does not go with --relations"),
        (["toy", "columns=fedavg", "columns=local"], "shoal: columns= is given twice; write columns=fedavg,local"),
        (["toy", "seeds=1", "seeds=2"], "shoal: seeds= is given twice; leave one out"),
        (["toy", "rows=tweets", "columns=local"], "shoal: no cell is in rows=tweets and in columns=local; leave one"),
        (["toy", "--list", "rows=tweets", "columns=local"], "shoal: no cell is in rows=tweets and in columns=local"),
        (["toy", "rows=table1/letters"], "shoal: unknown row 'table1/letters'"),
        (["toy", "--list", "engine=foo"], "shoal: unknown engine 'foo'; known: local, ray, serial."),
        (["--write-docs"], "shoal: there is no folder results to make pages from; choose another --results DIR"),
        (["--write-docs", "--results", "."], "shoal: there is no folder docs; --write-docs is for a checkout"),
    ],
)
@pytest.mark.usefixtures("toy")
def test_wrong_words(shoal: Shoal, words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.recipes.pages.documents.documents", lambda papers, known, extras: {})
    found = shoal("reproduce", *words)
    assert found.exit_code != 0 and sentence in found.stderr


@pytest.mark.parametrize("words", [("engine=foo",), ("engine=flower",), ("engine=ray", "jobs=2")])
@pytest.mark.usefixtures("toy")
def test_an_engine_that_cannot_be_is_refused_before_runs_are_counted(shoal: Shoal, words: tuple[str, ...]) -> None:
    found = shoal("reproduce", "toy/table1", *words)
    assert found.exit_code == 2 and "runs to play" not in found.stderr


def test_statements_of_all_papers(shoal: Shoal, tmp_path: Path) -> None:
    found = json.loads(shoal("reproduce", "--relations", "--results", tmp_path, "--format", "json").stdout)
    assert len(found["statements"]) > 100 and {line["verdict"] for line in found["statements"]} == {"not run"}
    text = shoal("reproduce", "cfl/notebook", "--relations", "--results", tmp_path).stdout
    assert "the notebook's split gains about ten points" in text and "Of 3 statements of our own" in text


def test_pages_made_from_nothing_do_not_replace_those_that_are_there(shoal: Shoal) -> None:
    Path("docs").mkdir()
    found = shoal("reproduce", "--write-docs", "--results", "nosuch")
    assert found.exit_code == 4 and found.stderr.count("\n") == 1
    assert not list(Path("docs").iterdir())


def test_a_figure_without_statements_says_so(shoal: Shoal) -> None:
    assert shoal("reproduce", "cfl/fig1", "--relations").stdout == "no statement is about cfl/fig1\n"


@pytest.mark.usefixtures("toy")
def test_of_cells_that_cannot_be_run_here_it_is_not_said_that_they_were(shoal: Shoal) -> None:
    found = shoal("reproduce", "toy/table1", "rows=tweets")
    assert found.exit_code == 0 and "all runs are there" not in found.stderr
    assert "tweets cannot be run here: the data is gone" in found.stdout


def test_pages_with_figures(shoal: Shoal, tmp_path: Path) -> None:
    results = Path(__file__).parents[2] / "results"
    shoal("reproduce", "cfl", "--list", "--html", tmp_path / "pages", "--results", results)
    page = (tmp_path / "pages" / "cfl.html").read_text()
    assert "Clustered Federated Learning" in page and "cfl-notebook-0" in page
    assert "none of its cells was run" in page  # Fig. 3


@pytest.mark.usefixtures("toy")
def test_data_that_are_missing_end_it_before_any_run(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = replace(TOY.cells[0], keys={**KEYS, "data": "mnist:unit"})
    table = replace(TOY, cells=(gone, *TOY.cells[1:]))
    monkeypatch.setattr("shoal.recipes.PAPERS", {"toy": Paper("toy", "A toy", "Nobody 2000", (table,))})
    for name in ("SHOAL_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    found = shoal("reproduce", "toy")
    assert found.exit_code == 3 and "data set 'mnist' is not on this machine" in found.stderr
    assert not found.stdout and list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("toy")
def test_it_is_said_where_no_results_are_and_refused_where_none_can_be(shoal: Shoal) -> None:
    found = shoal("reproduce", "toy", "--list", "--results", "nosuch")
    assert found.exit_code == 0 and "nothing is stored in nosuch, which is not there" in found.stderr
    Path("file").write_text("")
    found = shoal("reproduce", "toy", "--list", "--results", "file")
    assert found.exit_code == 4 and "file is no folder; choose another --results DIR" in found.stderr


@pytest.mark.usefixtures("toy")
def test_a_method_of_yours_takes_part_whatever_columns_are_named(shoal: Shoal) -> None:
    words = ("reproduce", "toy/table1", "rows=digits", "columns=fedavg", "methods=fedprox:mu=0.1")
    found = json.loads(shoal(*words, "--list", "--format", "json").stdout)
    assert [one["cell"] for one in found["cells"]] == [
        "toy/table1/digits/fedavg",
        "toy/table1/digits/fedprox-mu=0.1",
    ]
    text = shoal(*words, "seeds=1", "engine=serial", "--quiet").stdout
    assert "Of 1 comparison of yours" in text and "of our own" not in text


@pytest.mark.usefixtures("toy")
def test_a_value_that_a_method_of_yours_cannot_have_is_said_before_any_run(shoal: Shoal) -> None:
    found = shoal("reproduce", "toy/table1", "rows=digits", "methods=wecfl:groups=0")
    assert found.exit_code == 2 and "groups=0 is not possible" in found.stderr and not Path("results").exists()


@pytest.mark.usefixtures("toy")
def test_the_name_of_a_cell_says_how_to_ask_for_it(shoal: Shoal) -> None:
    found = shoal("reproduce", "toy/table1/digits/local", "--list")
    assert found.exit_code == 2 and "write toy/table1 rows=digits columns=local" in found.stderr
    assert "write toy/table1 rows=digits\n" in shoal("reproduce", "toy/table1/digits", "--list").stderr
