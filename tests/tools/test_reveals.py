"""The table of what methods reveal is that of the page."""

from __future__ import annotations

import pytest
from tools.reveals import BEGIN, END, PAGE, SIMULATED, revealed

from shoal.algorithms import ALGORITHMS

ROWS = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].splitlines()[2:]


def test_all_methods_are_in_the_table() -> None:
    assert [row.split("|")[1].strip() for row in ROWS] == list(ALGORITHMS)


@pytest.mark.parametrize("name", ["fedavg", "flexcfl", "fedgsp", "ifca"])
def test_a_method_reveals_what_the_table_says(name: str) -> None:
    (row,) = [row for row in ROWS if row.startswith(f"| {name} |")]
    told = dict(part.split(": ") for part in row.split("|")[2].strip().split("; "))
    heard = {task: ", ".join(fields) or "nothing" for task, fields in revealed(name).items() if task != "Evaluate"}
    assert told == heard
    assert name not in SIMULATED
