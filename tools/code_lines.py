"""Code lines per file: what is left of a module without blank lines, comments and docstrings.

python -m tools.code_lines                                every algorithm, the longest first
python -m tools.code_lines --src OLD/src --under ''       the whole package of another tree
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

EMPTY = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
ENDS = (tokenize.ENCODING, tokenize.ENDMARKER)


def code_lines(source: str) -> int:
    """The lines of a module that hold code.

    Args:
        source: The text of a Python module.

    Returns:
        How many of its lines are neither blank nor comment nor docstring alone.

    >>> code_lines('''"A docstring."
    ...
    ... x = 1  # a remark
    ... # a comment
    ... def f():
    ...     "Another docstring."
    ...     return (x,
    ...             x)
    ... ''')
    4
    """
    documented = set(docstring_starts(ast.parse(source)))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in EMPTY and token.type not in ENDS and token.start not in documented:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines)


def docstring_starts(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Where the docstrings of a module, its classes and functions begin: (line, column)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())) as first, *_]:
                    yield first.lineno, first.col_offset


def count(folder: Path) -> dict[str, int]:
    """Code lines of every Python file below a folder, by its path there."""
    return {p.relative_to(folder).as_posix(): code_lines(p.read_text()) for p in sorted(folder.rglob("*.py"))}


def main() -> None:
    """Print a table, the longest file first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--src", type=Path, default=Path("src"), help="the folder that holds shoal/")
    parser.add_argument("--under", default="algorithms", help="the part of the package to count; '' for all of it")
    chosen = parser.parse_args()
    folder = chosen.src / "shoal" / chosen.under
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder; name the one that holds shoal/ with --src")
    lines = count(folder)
    for name, n in sorted(lines.items(), key=lambda item: (-item[1], item[0])):
        print(f"{n:6}  {name}")
    print(f"{sum(lines.values()):6}  in {len(lines)} files")


if __name__ == "__main__":
    main()
