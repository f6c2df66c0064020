"""The changes that the mutation runner makes, one small file at a time."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools.mutate import equivalents, reason
from tools.mutation.changes import Mutant, mutants


def made(tmp_path: Path, source: str) -> list[Mutant]:
    (tmp_path / "code.py").write_text(source)
    return mutants(tmp_path, "code.py")


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a < b <= c", ["x = a <= b <= c", "x = a < b < c"]),
        ("x = a + b", ["x = a - b"]),
        ("x = a and not b", ["x = a or not b", "x = a and b"]),
        ("x = 0", ["x = 1"]),
        ("x = 3", ["x = 4", "x = 2"]),
        ("x = True", ["x = False"]),
        ("x = 0.5", ["x = 1.0"]),
        ("x = 1e-12", ["x = 0.0"]),
        ("x = min(a, key=b.argmax)", ["x = max(a, key=b.argmax)", "x = min(a, key=b.argmin)"]),
        ("x = a[::-1]", ["x = a[:]", "x = a[::-2]", "x = a[::-0]"]),
        ("x = replace(a, b=c, d=e)", ["x = replace(a, d=e)", "x = replace(a, b=c)"]),
        ("x = a if b else c", ["x = a if not b else c"]),
        ("x = [a for a in b if c]", ["x = [a for a in b if not c]"]),
        ("def f():\n    g()", ["def f():\n    pass"]),
        ("def f(a):\n    b = a\n    a = b", ["def f(a):\n    b = a\n    pass"]),
        ("def f() -> A | None:\n    return a", ["def f() -> A | None:\n    return None"]),
        ("def f() -> bool:\n    return a", ["def f() -> bool:\n    return not a"]),
        ("for a in b:\n    break", ["for a in b:\n    continue"]),
    ],
)
def test_every_change_is_made_once(source: str, changes: list[str], tmp_path: Path) -> None:
    assert [ast.unparse(m.apply()) for m in made(tmp_path, source)] == changes


@pytest.mark.parametrize(
    "source",
    [
        '"""At most 3 words."""',
        "x: Literal[3] = a",
        "@cache(maxsize=1)\ndef f(a: int | None) -> int: ...",
        "__all__ = [3]",
        "assert a < 3, 4",
        'x = "word" + a',
        'x = f"{a + 1}"',
        "warn(a, 3)",
        "from a import min, max",
        "x = zip(a, b, strict=True)",
        "x = a.astype(b, copy=False)",
        "if TYPE_CHECKING:\n    x = 3",
    ],
)
def test_what_is_left_alone(source: str, tmp_path: Path) -> None:
    assert made(tmp_path, source) == []


def test_what_an_error_says_is_left_alone_but_not_that_it_is_raised(tmp_path: Path) -> None:
    assert [m.after for m in made(tmp_path, "def f():\n    raise Wrong(3 + 4)")] == ["pass"]


def test_a_change_says_where_it_is_and_when_it_takes_effect(tmp_path: Path) -> None:
    source = "class A:\n    b = 0\n\n    def f(self, c=0):\n        return lambda: 0\n"
    places = [(m.line, m.scope, m.first, m.last, m.on_import) for m in made(tmp_path, source)]
    assert places == [(2, "A", 1, 5, True), (4, "A.f", 4, 5, True), (5, "A.f", 4, 5, False)]


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    """Functions are found again by their first line, so that they can be changed where they are loaded already."""
    source = "def f(a):\n    return (\n        a\n        + a\n    )\n\n\ndef g():\n    pass\n"
    assert [m.apply().body[1].lineno for m in made(tmp_path, source)] == [8]


def test_equal_changes_have_different_names(tmp_path: Path) -> None:
    found = made(tmp_path, "def f():\n    x = 0\n    x = 0\n")
    assert len({m.name for m in found}) == len(found) == 3  # two numbers, and one assignment that may be missing


def test_a_mutant_that_changes_nothing_is_known_by_its_line(tmp_path: Path) -> None:
    zero, missing = made(tmp_path, "def f(a):\n    a[1] = 0\n")[-1], made(tmp_path, "def f(a):\n    a[1] = 0\n")[0]
    entry = {"line": "a[1] = 0", "kind": "constant", "reason": "nobody looks"}
    assert reason(zero, {"code.py": [entry]}) == "nobody looks"
    assert reason(zero, {"other.py": [entry]}) is None
    assert reason(missing, {"code.py": [entry]}) is None
    assert reason(missing, {"code.py": [{**entry, "kind": "*"}]}) == "nobody looks"
    assert reason(zero, {"code.py": [{**entry, "after": "2"}]}) is None


def test_every_mutant_that_is_listed_as_equivalent_is_there() -> None:
    """A line that has changed since is no reason any more: take it out, or see whether its reason still holds."""
    root = Path(__file__).parents[2]
    for file, listed in equivalents().items():
        made = mutants(root, file)
        assert [e["line"] for e in listed if not any(reason(m, {file: [e]}) for m in made)] == [], file
