"""The import graph of a small tree, written out by hand; and that of this one against its picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.draw import draw, reduced
from tools.imports import Graph, cycle_lines, cycles, declared_layers, layers, packages, read, table

ROOT = Path(__file__).parents[2]
TREE = {
    "__init__.py": "",
    "errors.py": "X = 1\n",
    "types.py": "from shoal.errors import X\n",
    "loop/__init__.py": "from .rounds import go\n",
    "loop/rounds.py": "from ..types import X\nimport numpy\n\ndef go():\n    from shoal.cli import app\n",
    "cli/__init__.py": "",
    "cli/app.py": (
        "from typing import TYPE_CHECKING\nfrom shoal import loop, errors\n"
        "if TYPE_CHECKING:\n    from shoal.types import X\n"
    ),
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    for name, text in TREE.items():
        path = tmp_path / "shoal" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read(tmp_path)


def test_who_imports_whom(graph: Graph) -> None:
    assert {name: set(targets) for name, targets in graph.early.items() if targets} == {
        "shoal.types": {"shoal.errors"},
        "shoal.loop": {"shoal.loop.rounds"},
        "shoal.loop.rounds": {"shoal.types"},
        "shoal.cli.app": {"shoal.loop", "shoal.errors"},  # the import for the type checker is none
    }
    assert {name: set(targets) for name, targets in graph.late.items() if targets} == {
        "shoal.loop.rounds": {"shoal.cli.app"}
    }
    assert graph.lines["shoal.loop.rounds"] == 4


def test_packages_and_cycles(graph: Graph) -> None:
    assert packages(graph) == {
        "shoal": set(),
        "errors": set(),
        "types": {"errors"},
        "loop": {"types", "cli"},
        "cli": {"loop", "errors"},
    }
    assert list(cycle_lines(graph)) == [
        "cycles among modules, by imports at their heads: none",
        "cycles among modules, imports inside functions counted: 1",
        "  shoal.cli.app -> shoal.loop -> shoal.loop.rounds -> shoal.cli.app",
        "cycles among packages: 1",
        "  cli -> loop -> cli",
    ]


def test_the_table(graph: Graph) -> None:
    assert [line.split() for line in table(graph).splitlines()] == [
        ["package", "modules", "code", "lines", "imported", "by", "imports"],
        ["cli", "2", "4", "1", "loop,", "errors"],
        ["loop", "2", "5", "1", "cli,", "types"],
        ["types", "1", "1", "1", "errors"],
        ["errors", "1", "1", "2", "-"],
        ["shoal", "1", "0", "0", "-"],
        ["in", "all", "7", "11", "6", "imports"],
    ]


def test_two_cycles_are_told_apart() -> None:
    assert cycles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}}) == [
        ["a", "b", "a"],
        ["c", "d", "e", "c"],
    ]
    assert cycles({"a": {"b"}, "b": set()}) == []


def test_whoever_imports_a_cycle_stands_above_it() -> None:
    edges = {"bench": {"run"}, "run": {"report", "types"}, "report": {"run"}, "types": set[str]()}
    assert layers(edges) == {"bench": 2, "run": 1, "report": 1, "types": 0}


def test_edges_that_others_imply() -> None:
    assert reduced({"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set[str]()}) == {
        "a": {"b"},
        "b": {"c"},
        "c": {"d"},
        "d": set(),
    }


CONTRACT = """
[[tool.importlinter.contracts]]
type = "layers"
layers = ["(cli)", "(recipes)", "loop", "types | privacy", "errors"]
"""


def test_layers_of_the_contract(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    assert declared_layers(file, {"cli"}) == {}
    file.write_text(CONTRACT)
    names = {"cli", "loop", "types", "errors"}
    assert declared_layers(file, names) == {"errors": 0, "types": 1, "loop": 2, "cli": 3}
    assert declared_layers(file, names | {"new"}) == {}


def test_the_picture(graph: Graph, tmp_path: Path) -> None:
    drawn = draw(graph, tmp_path / "pyproject.toml")  # there is none: cli and loop import each other and share a row
    assert boxes(drawn) == {"errors", "types", "loop", "cli"}
    assert drawn.count('class="arrow') == 3  # cli and loop both ways, loop -> types; none to errors, the bottom row
    assert drawn.count('class="arrow back"') == 0
    (tmp_path / "pyproject.toml").write_text(CONTRACT)
    drawn = draw(graph, tmp_path / "pyproject.toml")
    assert drawn.count('class="arrow') == 3
    assert drawn.count('class="arrow back"') == 1  # loop -> cli


def test_the_picture_of_the_architecture_page_is_of_this_package() -> None:
    drawn = (ROOT / "docs" / "images" / "imports.svg").read_text()
    assert boxes(drawn) == set(packages(read(ROOT / "src"))) - {"shoal"}, "draw it again: make graph"


def test_the_architecture_page_names_every_package() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().split("## Layers")[1].split("## How a run flows")[0]
    named = set(re.findall(r"`(\w+)`", table))
    assert set(packages(read(ROOT / "src"))) - {"shoal"} - named == set()


def boxes(drawn: str) -> set[str]:
    return set(re.findall(r'<text class="name"[^>]*>([^<]+)<', drawn))
