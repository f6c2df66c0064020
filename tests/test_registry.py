"""Things by name: declared once, found by home, by entry point or by import, refused when a name has two owners."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from shoal.errors import BadInput
from shoal.registry import Registry, registry


class Point:
    """An entry point of another package."""

    name = "stars"

    def __init__(self, shapes: Registry[type]) -> None:
        self.shapes = shapes

    def load(self) -> None:
        self.shapes("star", corners=10)(type("Star", (), {"__module__": "elsewhere"}))


def test_home_and_entry_points_are_loaded_when_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = Registry[type]("round shape", home="shapes_of_ours")
    asked: list[str] = []

    class Points:
        def select(self, group: str) -> list[Point]:
            asked.append(group)
            return [Point(shapes)]

    monkeypatch.setattr(registry, "installed_points", Points)
    monkeypatch.setattr(registry, "import_module", lambda name: shapes("disc")(type("Disc", (), {"__module__": name})))
    assert asked == []
    assert (list(shapes), len(shapes), "star" in shapes) == (["disc", "star"], 2, True)
    assert asked == ["shoal.roundshapes"]  # once
    assert shapes["disc"].__module__ == "shapes_of_ours"
    assert shapes.having("corners") == ("star",)


def test_a_name_has_one_owner_but_may_be_imported_twice() -> None:
    shapes = Registry[type]("shape", home="")
    for _ in range(2):  # as when a file is imported again
        shapes("square")(type("Square", (), {"__module__": "mine"}))
    with pytest.raises(BadInput, match=r"two shapes called 'square': mine.Square and yours.Square"):
        shapes("square")(type("Square", (), {"__module__": "yours"}))
    assert shapes["square"].__module__ == "mine"


def test_the_nearest_name_is_offered() -> None:
    shapes = Registry[type]("shape", home="")
    shapes("square")(ModuleType)
    with pytest.raises(BadInput, match=r"unknown shape 'sqare'; did you mean 'square'\? Known: square. Draw one."):
        shapes.find("sqare", "Draw one.")
    with pytest.raises(KeyError):
        shapes["sqare"]
    assert "shapes_of_ours" not in sys.modules
