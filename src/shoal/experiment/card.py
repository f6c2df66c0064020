"""The card of exported models, in Markdown: what they were trained on, for whom, how well they do, how to use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.data.preprocess import Preprocessing
from shoal.tree import Shape, told
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.experiment.result import Run

KIND = {
    "one": "one model for all",
    "group": "one model per group",
    "own": "one model per client",
    "vote": "models that vote",
}


def card(run: Run, models: Mapping[str, Mapping[str, Any]], onnx: bool = False) -> str:
    """The text of the card.

    Args:
        run: The run whose models leave.
        models: What is told of each, by the name of its file.
        onnx: Whether there are ONNX files, too.

    Returns:
        Markdown.
    """
    source, signature, config = run.plan.federation, run.signature, run.config
    algorithm = config.get("algorithm", type(run.plan.algorithm).__name__)
    kind = "one model per client" if run.serving.personal is not None else KIND[run.serving.kind]
    lines = [
        f"# Models of {source.name}",
        "",
        f"Trained by `{algorithm}`, a method of federated learning, over {run.summary['rounds']} rounds with Shoal "
        f"{__version__}: {kind}. The files hold no sample of the data.",
        "",
        "## Data",
        "",
        f"* {len(source.ids):,} clients with {int(source.roster.sizes_N.sum()):,} training samples",
        f"* inputs: {_inputs(signature.preprocess, signature.shape, signature.dtype)}",
        f"* targets: {_targets(run)}",
        f"* fingerprint of the data: `{config['fingerprint']}`",
        "",
        *_columns(signature.preprocess),
        "## Models",
        "",
        *_models(run, models),
        "",
        *_use(next(iter(models)), signature.preprocess, onnx, run.plan.layout.objective.targets == "floats"),
        "## Settings",
        "",
        "| key | value |",
        "| --- | --- |",
        *(f"| `{key}` | {_cell(value)} |" for key, value in _flat(config).items()),
    ]
    return "\n".join(lines) + "\n"


def _inputs(table: Preprocessing | None, shape: Shape, dtype: Any) -> str:
    if table is not None:
        return f"{len(table.columns)} columns of a table, which become {len(table.inputs)} numbers"
    if isinstance(shape, dict):
        return "; ".join(f"{name}: {told(sizes)}, {dtype[name]}" for name, sizes in shape.items())
    return f"{told(shape) if shape else 'a number'}, {dtype}"


def _targets(run: Run) -> str:
    task, signature = run.plan.layout.objective, run.signature
    kind = {"classes": "classes", "labels": "labels, each 0 or 1", "tokens": "classes of tokens", "floats": "numbers"}
    kind |= {"floats": "number"} if signature.classes == 1 else {}
    names = [f"{k} = {_cell(name)}" for k, name in enumerate(signature.class_names or ())]
    return f"{signature.classes} {kind[task.targets]}{': ' if names else ''}{', '.join(names)}"


def _columns(table: Preprocessing | None) -> list[str]:
    """How a table is prepared, column by column; categories are listed, as they are part of the model."""
    if table is None:
        return []
    fill, shift, scale = table.values()
    rows = ["| column | becomes | an empty cell is |", "| --- | --- | --- |"]
    for d, column in enumerate(table.columns):
        words = ", ".join(map(_cell, column.categories))
        what = f"{column.encode} of {words}" if column.encode != "number" else "a number"
        what += f", minus {shift[d]:.4g}, over {scale[d]:.4g}" if (shift[d], scale[d]) != (0, 1) else ""
        empty = column.categories[int(fill[d])] if column.categories and fill[d] == fill[d] else f"{fill[d]:.4g}"
        told = "refused" if fill[d] != fill[d] else _cell(empty)
        rows.append(f"| {_cell(column.name)} | {what} | {told}{', and told' if column.indicator else ''} |")
    note = ["", "These are the values for everybody; each client has its own."] if table.clients else []
    return [*rows, *note, ""]


def _models(run: Run, models: Mapping[str, Mapping[str, Any]]) -> list[str]:
    score = run.history.score
    rows = [f"| file | clients | {score.title} |", "| --- | --- | --- |"]
    for name, about in models.items():
        rows.append(f"| `{name}.safetensors` | {about['clients']} | {score.show(about['score']['value'])} |")
    whole = run.summary.get(score.key("last"))
    return [
        *rows,
        "",
        f"Of all clients together: {score.title} {score.show(whole)}, on their own test samples in the last "
        "round that tested everybody. A client that was not there is best given the model of a client like it.",
    ]


def _use(name: str, table: Preprocessing | None, onnx: bool, values: bool) -> list[str]:
    x = "rows" if table is not None else "x"
    what = "rows: a data frame, or a mapping of columns" if table is not None else "x: raw inputs, as the data had them"
    lines = ["## Use", "", "```python", "import shoal", f'model = shoal.load_model("{name}.safetensors")']
    lines += [f"model.{'predict' if values else 'predict_proba'}({x})        # {what}", "```", ""]
    if onnx:
        given = (
            ", B x D float64: nan for a gap, categories by number" if table is not None else ", as the data had them"
        )
        lines += [
            f"`{name}.onnx` takes `x`{given}, and gives `{'values' if values else 'probabilities'}`; preprocessing "
            "is inside.",
            "",
        ]
    return lines


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in config.items():
        out |= {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {key: value}
    return out


def _cell(value: Any) -> str:
    """Text that keeps a table of Markdown whole."""
    return str(value).replace("|", "\\|").replace("\n", " ").replace("<", "\\<")
