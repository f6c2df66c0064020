"""Code lines: blank lines, comments and docstrings do not count, everything else does."""

from __future__ import annotations

from pathlib import Path

from tools.code_lines import code_lines, count


def test_what_counts() -> None:
    assert code_lines("") == 0
    assert code_lines("# a comment\n\n") == 0
    assert code_lines('"""A docstring\nof two lines."""\n') == 0
    assert code_lines('text = """not a docstring\nof two lines"""\n') == 2
    assert code_lines('x = 1\n"a string that documents nothing"\n') == 2  # only the first statement is a docstring
    assert code_lines('class A:\n    """Doc."""\n\n    def f(self) -> None:\n        """Doc."""  # why\n') == 2
    assert code_lines("f(\n    1,  # one\n\n    # nothing\n    2,\n)\n") == 4
    assert code_lines('def f(): "doc"; return 1\n') == 1


def test_files_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "a.py").write_text("")
    (tmp_path / "c.txt").write_text("x = 1\n")
    assert count(tmp_path) == {"a.py": 0, "deep/b.py": 2}
