"""`shoal reproduce TABLE methods=`: methods that a paper does not have, beside its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal
from tests.cli.test_reproduce import toy

__all__ = ["toy"]  # a fixture


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_from_a_file_takes_part(shoal: Shoal, jobs: int) -> None:
    """It is run with the row's settings, also in a process that has to import it, and set beside each other method."""
    name = f"Visitor{jobs}"  # a name is taken once in a process
    shoal("new", "algorithm", name.lower())
    words = ("toy/table1", "rows=digits", f"methods={name.lower()}.py:{name}:groups=2,fedprox")
    done = shoal("reproduce", *words, "seeds=1", f"jobs={jobs}", "engine=serial", "--quiet", "--html", "pages")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("digits")]
    assert [row[1] for row in rows] == ["fedavg", "local", f"{name}-groups=2", "fedprox"]
    assert [row[5] for row in rows] == ["90.0", "90.0", "-", "-"] and all("(1)" in row for row in rows)
    asked = [line for line in done.stdout.splitlines() if " is above " in line]
    assert [line.split(",")[0] for line in asked] == [
        f"{guest} is above {other}" for guest in (f"{name}-groups=2", "fedprox") for other in ("fedavg", "local")
    ]
    stored = json.loads(Path(f"results/toy/table1/digits/{name}-groups=2.json").read_text())["settings"]
    assert stored["lr"] == 0.1 and stored["groups"] == 2 and len(stored["code"]) == 32
    assert f"{name}-groups=2" in Path("pages/toy.html").read_text()
    again = shoal("reproduce", *words, "seeds=1", "--list")
    assert again.stdout == done.stdout.replace(str(Path("pages/toy.html")), "").rstrip() + "\n"


@pytest.mark.usefixtures("toy")
def test_columns_choose_guests_too(shoal: Shoal) -> None:
    shown = shoal("reproduce", "toy/table1", "--list", "methods=fedprox", "columns=fedprox").stdout.splitlines()
    assert [line.split()[:2] for line in shown[2:4]] == [["digits", "fedprox"], ["tweets", "fedprox"]]
    assert "tweets cannot be run here: the data is gone" in shown


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["methods=fedprox"], "methods= is about runs, and none is asked for"),
        (["--list", "methods=fedprox"], "methods= is about runs, and none is asked for"),
        (["toy/table1", "methods="], "methods= has no value"),
        (["toy/table1", "methods=local"], "toy/table1 has local already"),
        (["toy/table1", "methods=fedprox", "--write-docs"], "methods= does not go with --write-docs"),
        (["toy/table1", "methods=fedprox", "--relations"], "methods= chooses cells, and --relations shows statements"),
    ],
)
def test_what_does_not_go_together_is_refused(shoal: Shoal, words: list[str], sentence: str) -> None:
    done = shoal("reproduce", *words)
    assert done.exit_code == 2 and sentence in done.stderr and not Path("results").exists()
