"""Comparisons as CSV for spreadsheets and as LaTeX for papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields

from shoal.cli.results import HEADS, PERCENT, cell, difference_cells, difference_heads, number
from shoal.experiment.compare import FIGURES, LOWER, Line
from shoal.experiment.significance import Difference

UNSAFE = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
UNSAFE |= {sign: f"\\{sign}" for sign in "&%$#_{}"}
RANKED = (*PERCENT, "ari", "rounds_to_target", "megabytes_to_target")  # columns whose best value is set in bold


def comparison_csv(lines: Sequence[Line]) -> str:
    """A row per setting with mean, standard deviation and number of runs of every figure; shares are of 1."""
    heads = ["setting", "runs", "complete", *(f"{key}{part}" for key in FIGURES for part in ("", "_std", "_n"))]
    rows = []
    for line in lines:
        row: list[object] = [line.name, len(line.runs), line.complete]
        for key in FIGURES:
            found = line.figures[key]
            row += [None, None, 0] if found is None else [found.mean, found.std, found.n]
        rows.append(row)
    return as_csv(heads, rows)


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


def comparison_latex(lines: Sequence[Line], keys: Sequence[str]) -> str:
    """A table for `booktabs`; the best of a column is bold."""
    rows = []
    for line in lines:
        cells = [latex(cell(key, line)) for key in keys]
        rows.append(
            [
                latex(line.name),
                str(len(line.runs)),
                *(bold(c, k, line, lines) for c, k in zip(cells, keys, strict=True)),
            ]
        )
    return as_latex(["setting", "runs", *(HEADS[key] for key in keys)], rows)


def bold(text: str, key: str, line: Line, lines: Sequence[Line]) -> str:
    """The text in bold if it is the best of its column, as far as the shown digits tell; all runs must have it."""
    scale = 100 if key in PERCENT else 1
    whole = [o for o in lines if (f := o.figures[key]) is not None and f.n == len(o.runs)]
    means = {o.name: number(key, f.mean * scale) for o in whole if (f := o.figures[key]) is not None}
    if key not in RANKED or line.name not in means or len(means) < 2:
        return text
    figures = {name: float(shown.replace(",", "")) for name, shown in means.items()}
    best = (min if key in LOWER else max)(figures.values())
    return f"\\textbf{{{text}}}" if figures[line.name] == best else text


def differences_latex(found: Sequence[Difference], figure: str) -> str:
    """A table for `booktabs`."""
    rows = [[latex(c) for c in difference_cells(d, figure)] for d in found]
    return as_latex(difference_heads(figure), rows)


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
