"""WeCFL as the code of its first author: cells that exist, distances by hand, the package itself beside them."""

from __future__ import annotations

from shoal.recipes import PAPERS
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.wecfl_code import batch_norm, lines, package, summary, wecfl_code
from shoal.recipes.papers.wecfl_code import code_of
from shoal.recipes.records import Cell
from shoal.recipes.store import Result

CELLS = {cell.name: cell for table in PAPERS["wecfl"].tables for cell in table.cells}
NOT_RUN: Known = {name: (cell, None) for name, cell in CELLS.items()}
SAME = ("rounds", "steps", "batch", "lr", "momentum", "model", "selection")
IFCA = "wecfl/table2-cifar-classes/k10/ifca"


def ran(cell: Cell, accuracy: float) -> tuple[Cell, Result]:
    runs = {0: {"complete": True, "figures": {"last_three_accuracy": accuracy}}}
    return cell, Result(cell.settings, runs)


def test_cells_as_the_code_have_the_figures_of_their_own_and_say_so() -> None:
    coded = [cell for cell in CELLS.values() if cell.column.endswith("-code")]
    assert len(coded) == 12 == len([*lines(NOT_RUN)])
    for cell in coded:
        own = CELLS[cell.of]
        assert code_of(own.name) == cell.name and cell.paper == own.paper and "D104" in cell.departures
        assert "clients=50" not in cell.keys["partition"] and "D102" not in cell.departures
        assert cell.keys["data"] == "cifar10:symmetric" and {k: cell.keys[k] for k in SAME} == {
            k: own.keys[k] for k in SAME
        }
    assert CELLS[code_of(IFCA)].keys["one_object"] and "one_object" not in CELLS[IFCA].keys


def test_distances_of_both_by_hand() -> None:
    """The paper has 34.06: 72.06 by the text is 38 away, 32.06 as the code 2."""
    known = {**NOT_RUN, IFCA: ran(CELLS[IFCA], 0.7206), code_of(IFCA): ran(CELLS[code_of(IFCA)], 0.3206)}
    assert summary([*lines(NOT_RUN)]) == []
    [told] = summary([*lines(known)])
    assert told == "Over 1 figure of IFCA it is 38.0 points from the paper by the text and 2.0 as the code."


def test_the_package_itself_stands_beside_both() -> None:
    played = {"ifca": {"rounds": 4, "accuracy": [0.9, 0.3, 0.33, 0.36], "f1": [0, 0, 0, 0]}}
    known = {**NOT_RUN, IFCA: ran(CELLS[IFCA], 0.72)}
    page = package(known, {"fedbase": {"seed": 0, "played": played}})[1]
    assert "| `ifca` | 34.1 | 33.0 (round 4) | - | 72.0 |" in page
    assert package(known, {}) == [] and "FedBase itself" not in " ".join(wecfl_code(known, {}))


def test_batch_norm_stands_in_a_table_of_its_own() -> None:
    found = {"running": {"accuracy": 0.83, "f1": 0.41}, "batches": {"accuracy": 0.86, "f1": 0.46}}
    _, page, far = batch_norm(NOT_RUN, {"batch-norm": {"played": {"wecfl/table2-fmnist-classes/k1/fedavg": found}}})
    assert "`fedavg` 3.3 by running statistics, 0.3 by those of the batch." in far  # of 86.33
    assert (
        "| Table 2, (3, 2) classes | `fedavg` | 86.3, 46.1 | 83.0, 41.0 | 86.0, 46.0 |" in page
        and batch_norm(NOT_RUN, {}) == []
    )
