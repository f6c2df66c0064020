"""The notebooks of docs/notebooks: run without Jupyter, filled with their results, shown as pages.

`python -m tools.site.notebooks` runs them and writes the results into the files. Pictures need the extra `report` and a
browser; the tests run the same cells and compare what they print.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.site.links import REPOSITORY, ROOT

FOLDER = ROOT / "docs" / "notebooks"
Cell = dict[str, Any]


def run(source: str, space: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last line if that is an expression.

    >>> run("print(1)\\nx = 2\\nx + 1", {})
    ('1\\n', 3)
    >>> run("x = 2; x;", {})
    ('', None)
    """
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)
    return printed.getvalue(), None if source.rstrip().endswith(";") else value


def outputs(path: Path, pictures: bool = False) -> Iterator[list[dict[str, Any]]]:
    """Run a notebook: for each cell of code what the format has as its outputs.

    Args:
        path: Of the notebook.
        pictures: Whether figures are drawn, which takes a browser; else they are only named.

    Yields:
        The outputs of a cell.
    """
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in code(cells(path)):
        printed, value = run("".join(cell["source"]), space)
        found: list[dict[str, Any]] = []
        if printed:
            found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
        if value is not None:
            found.append(result(value, pictures))
        yield found


def result(value: Any, pictures: bool) -> dict[str, Any]:
    """A value as the format has it: a figure of plotly as a picture, anything else as text and, if it can, as HTML.

    >>> result(3, False)["data"]
    {'text/plain': ['3']}
    """
    if hasattr(value, "to_plotly_json"):
        data = {"text/plain": ["a figure"]}
        if pictures:
            data["image/svg+xml"] = [value.to_image("svg").decode()]
    else:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        html = getattr(value, "_repr_html_", lambda: None)()
        data |= {"text/html": html.splitlines(keepends=True)} if html and pictures else {}
    return {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}


def cells(path: Path) -> list[Cell]:
    found: list[Cell] = json.loads(path.read_text())["cells"]
    return found


def code(of: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in of if cell["cell_type"] == "code"]


def words(found: Sequence[dict[str, Any]]) -> list[str]:
    """What outputs say, without pictures: the part that must be the same everywhere.

    >>> words([result(3, False)])
    ['3']
    """
    return ["".join(o["text"] if "text" in o else o["data"]["text/plain"]) for o in found]


def fill(path: Path) -> None:
    """Run a notebook and write its results into it."""
    whole = json.loads(path.read_text())
    for number, (cell, found) in enumerate(zip(code(whole["cells"]), outputs(path, pictures=True), strict=True), 1):
        for output in found:
            if "execution_count" in output:
                output["execution_count"] = number
        cell["execution_count"], cell["outputs"] = number, found
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def markdown(path: Path) -> str:
    """A notebook as a page."""
    name = path.relative_to(ROOT).as_posix()
    parts = []
    for cell in cells(path):
        text = "".join(cell["source"])
        parts += (
            [text] if cell["cell_type"] == "markdown" else [f"```python\n{text}\n```", *map(shown, cell["outputs"])]
        )
    note = f"*This page is a notebook, [`{name}`]({REPOSITORY}/blob/main/{name}); its cells run in the tests.*"
    head, _, rest = "\n\n".join(parts).partition("\n")
    return f"{head}\n\n{note}\n{rest}\n"


def shown(output: dict[str, Any]) -> str:
    """One output as Markdown.

    >>> print(shown(result(3, False)))
    ``` { .text .output }
    3
    ```
    """
    data = output.get("data", {})
    if "image/svg+xml" in data:
        picture = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f'<p class="output"><img alt="figure" src="data:image/svg+xml;base64,{picture}"></p>'
    if "text/html" in data:
        return '<div class="output">\n' + textwrap.dedent("".join(data["text/html"])) + "\n</div>"
    text = words([output])[0].rstrip("\n")
    return f"``` {{ .text .output }}\n{text}\n```"


if __name__ == "__main__":
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        fill(notebook)
        print(f"wrote {notebook.relative_to(ROOT)}")
