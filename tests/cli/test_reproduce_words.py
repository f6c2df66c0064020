"""`shoal reproduce TABLE methods=`: methods that a paper does not have, beside its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal
from tests.cli.test_reproduce import toy

import shoal as package

__all__ = ["toy"]  # a fixture


@pytest.mark.usefixtures("toy")
def test_methods_take_part_and_are_set_beside_each_other_one(shoal: Shoal) -> None:
    words = ("toy/table1", "rows=digits", "methods=flexcfl:groups=2,fedprox", "seeds=1")
    done = shoal("reproduce", *words, "engine=serial", "--quiet", "--html", "pages")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("digits")]
    assert [row[1] for row in rows] == ["fedavg", "local", "flexcfl-groups=2", "fedprox"]
    assert [row[5] for row in rows] == ["90.0", "90.0", "-", "-"] and all("(1)" in row for row in rows)
    asked = [line for line in done.stdout.splitlines() if " is above " in line]
    assert [line.split(",")[0] for line in asked] == [
        f"{guest} is above {other}" for guest in ("flexcfl-groups=2", "fedprox") for other in ("fedavg", "local")
    ]
    stored = json.loads(Path("results/toy/table1/digits/flexcfl-groups=2.json").read_text())["settings"]
    assert stored["lr"] == 0.1 and stored["groups"] == 2 and "code" not in stored
    assert "flexcfl-groups=2" in Path("pages/toy.html").read_text()
    again = shoal("reproduce", *words, "--list")
    assert again.stdout == done.stdout.replace(str(Path("pages/toy.html")), "").rstrip() + "\n"


def test_a_method_from_a_file_takes_part_in_a_table_of_a_paper(shoal: Shoal, tmp_path: Path) -> None:
    """In processes of their own, which have to import it; with other code its figures are refused."""
    shoal("new", "algorithm", "visitor")
    words = ("flexcfl/table3", "rows=synthetic", "methods=visitor.py:Visitor:rounds=2", "columns=Visitor*", "seeds=2")

    def reproduce(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "shoal", "reproduce", *words, *more]
        state = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1]), "XDG_STATE_HOME": str(tmp_path)}
        return subprocess.run(command, cwd=tmp_path, env=state, capture_output=True, text=True, timeout=300)

    done = reproduce("jobs=2", "engine=serial", "-q")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "results/flexcfl/table3/synthetic/Visitor-rounds=2.json"
    stored = json.loads(file.read_text())
    assert stored["settings"]["groups"] == 5 and len(stored["settings"]["code"]) == 32 and len(stored["runs"]) == 2
    with open(tmp_path / "visitor.py", "a") as code:
        code.write("# another\n")
    refused = reproduce()
    assert (
        refused.returncode == 2 and "figures of other code than visitor.py:Visitor:rounds=2 has now" in refused.stderr
    )


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
