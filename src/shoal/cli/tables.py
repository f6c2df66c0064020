"""Comparisons as CSV for spreadsheets and as LaTeX for papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields

from shoal.analysis.compare import Line, figures_for
from shoal.analysis.quantities import Quantity
from shoal.analysis.significance import Difference
from shoal.analysis.table import Cell, difference_cells, difference_heads, tabulate

UNSAFE = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
UNSAFE |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


def comparison_csv(lines: Sequence[Line], wanted: Sequence[Quantity] | None = None) -> str:
    """A row per setting with mean, standard deviation and number of runs of every figure; shares are of 1."""
    found = tabulate(lines, figures_for(lines).values() if wanted is None else wanted)
    heads = [f"{quantity.key}{part}" for quantity in found.columns for part in ("", "_std", "_n")]
    rows = []
    for line, cells in zip(found.lines, found.rows, strict=True):
        row: list[object] = [line.name, len(line.runs), line.complete]
        for cell in cells:
            row += [None, None, 0] if cell.value is None else [cell.value.mean, cell.value.std, cell.value.n]
        rows.append(row)
    return as_csv(["setting", "runs", "complete", *heads], rows)


def differences_csv(found: Sequence[Difference]) -> str:
    """A row per difference; shares are of 1."""
    heads = [f.name for f in fields(Difference) if f.name != "n"]
    rows = [[asdict(d)[h] for h in heads] + list(d.n) for d in found]
    return as_csv([*heads, "n", "n_against"], rows)


def as_csv(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """
    >>> as_csv(["setting", "mean"], [["a, b", None]])
    'setting,mean\\n"a, b",\\n'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *rows])
    return text.getvalue()


def comparison_latex(lines: Sequence[Line], everything: bool = False, wanted: Sequence[Quantity] | None = None) -> str:
    """A table for `booktabs`; the best of a column is bold."""
    found = tabulate(lines, wanted, everything)
    rows = [
        [latex(line.name), str(len(line.runs)), *map(bold, cells)]
        for line, cells in zip(found.lines, found.rows, strict=True)
    ]
    return as_latex(["setting", "runs", *(quantity.head for quantity in found.columns)], rows)


def bold(cell: Cell) -> str:
    """A cell as LaTeX, in bold if it is marked."""
    return f"\\textbf{{{latex(cell.shown())}}}" if cell.best else latex(cell.shown())


def differences_latex(found: Sequence[Difference], quantity: Quantity) -> str:
    """A table for `booktabs`."""
    rows = [[latex(c) for c in difference_cells(d, quantity)] for d in found]
    return as_latex([head.short for head in difference_heads(quantity)], rows)


def as_latex(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""
    >>> print(as_latex(["setting", "best %"], [["a", "1"]]), end="")
    \begin{tabular}{lr}
    \toprule
    setting & best \% \\
    \midrule
    a & 1 \\
    \bottomrule
    \end{tabular}
    """
    lines = [f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", r"\toprule", f"{' & '.join(map(latex, heads))} \\\\"]
    lines += [r"\midrule", *(f"{' & '.join(row)} \\\\" for row in rows), r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def latex(text: str) -> str:
    r"""Text as LaTeX shows it.

    >>> latex("lr_decay=0.9 50% ±1")
    'lr\\_decay=0.9 50\\% $\\pm$1'
    """
    return "".join(UNSAFE.get(sign, sign) for sign in text)
