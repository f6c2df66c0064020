"""`shoal probe`: how alike clients learn, before one chooses a method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.arguments import allowed
from shoal.cli.console import Format, FormatOption, echo, emit, err, out, table
from shoal.cli.failures import guarded
from shoal.errors import command

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.analysis.probe import ModelSimilarity, Probe
    from shoal.types import Array

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="data, partition, model, clients, groups, steps, lr, batch, seed, ..."),
]
Figures = Annotated[Path | None, typer.Option("--figure", metavar="DIR", help="Write pictures (SVG) to this folder.")]
MEASURES = ("l2", "cosine", "madc", "edc")
MOST_ROWS = 30


@guarded
def probe(words: Words = None, figure: Figures = None, format: FormatOption = Format.text) -> None:
    """See how alike clients learn, before choosing a method.

    Some clients (clients=100) pre-train for a moment (steps=50) from one random model, as FedGroup's do.
    Shows how distances of their updates spread, whether EDC stands for MADC, and how many groups fit.
    Several models go with commas.

    \b
    shoal probe data=mnist partition=power-law model=mclr,mlp lr=0.03
    shoal probe data=digits partition=dirichlet:0.1:clients=50 --figure pictures
    """
    from shoal.analysis.probe import KEYS
    from shoal.analysis.probe import probe as look
    from shoal.experiment.sweep import values

    pairs: dict[str, Any] = dict(allowed(words or [], (*KEYS, "model", "clients", "groups")))
    models = values(pairs.pop("model", "mclr"))
    numbers = {key: whole(key, pairs.pop(key)) for key in ("clients", "groups") if key in pairs}
    found = look(None, models, **numbers, **pairs)
    if figure is not None:
        figure = figure.expanduser()
        figure.mkdir(parents=True, exist_ok=True)
        for name, picture in pictures(found).items():
            (figure / name).write_text(picture, encoding="utf-8")
            echo(err(), f"wrote {figure / name}")
    if format is Format.json:
        emit(document(found))
    else:
        show(out(), found)


def whole(key: str, value: str) -> int:
    from shoal.errors import BadInput

    if not value.isdigit():
        raise BadInput(f"{key}={value} is not possible: it must be a whole number")
    return int(value)


def document(found: Probe) -> dict[str, Any]:
    """The probe for programs; the matrices are left out."""
    from shoal.loop.row import to_json

    keys = ("model", "parameters", "contrast", "correlation", "line", "silhouette", "clarity", "groups", "ari")
    settings = found.settings.model_dump(include={"data", "partition", "seed", "data_seed", "lr", "batch", "steps"})
    shown = [
        {k: to_json(getattr(similarity, k)) for k in keys} | {"labels": similarity.labels_N.tolist()}
        for similarity in found.alike
    ]
    head = {"kind": "probe", "data": found.data, "clients": found.clients, "looked_at": list(found.cohort)}
    return {**head, "settings": settings, "m": found.m, "models": shown}


def show(console: Console, found: Probe) -> None:
    settings, first = found.settings, found.alike[0]
    work = f"{settings.steps} steps of batch {settings.batch} at learning rate {settings.lr:g}"
    echo(console, f"{found.data}: {len(found.cohort)} of {found.clients:,} clients pre-trained, {work}", style="bold")
    rows = [
        [a.model, f"{a.parameters:,}", *(f"{a.contrast[m]:.3g}" for m in MEASURES), f"{a.correlation[found.m]:.3f}"]
        for a in found.alike
    ]
    heads = ["model", "parameters", "L2", "cosine", "MADC", "EDC", "EDC~MADC"]
    console.print(table(heads, rows, right=True))
    echo(
        console,
        "L2 to EDC: relative contrast (max - min)/min of all pairwise distances; small: all look alike",
        style="dim",
    )
    echo(console, f"EDC~MADC: correlation over all pairs, {found.m} directions", style="dim")
    for similarity in found.alike:
        echo(console, f"\nHow many groups, {similarity.model}: silhouette by number of groups", style="bold")
        echo(console, "  ".join(f"{k}: {v:.2f}" for k, v in similarity.silhouette.items()))
        echo(console, verdict(similarity))
    echo(console, f"\nWho learns like whom, {first.model}: clients by group", style="bold")
    unicode = console.encoding.lower().startswith("utf")
    for line in blocks(ordered(first), " ░▒▓█" if unicode else " .:*#"):
        echo(console, line)
    echo(console, "cosine of updates: blank up to 0, darker to 1", style="dim")
    again = [f"{k}={v}" for k, v in (("data", settings.data), ("partition", settings.partition)) if v]
    again += [f"task={settings.task}"] if settings.task != "classification" else []
    if first.groups > 1:
        again = ["fedgroup", *again, f"groups={first.groups}"]
    echo(console, f"\nNext: {command('run', 'fedavg', 'local', *again, f'lr={settings.lr:g}')}")


def verdict(similarity: ModelSimilarity) -> str:
    """A sentence on the number of groups that fits best."""
    from shoal.algorithms.parts.number_of_groups import LEAST

    best = similarity.silhouette.get(str(similarity.groups), 0.0)
    planted = (
        "" if similarity.ari is None else f"; against the planted groups: adjusted Rand index {similarity.ari:.2f}"
    )
    if similarity.groups == 1:
        clearest = max(similarity.clarity, key=lambda k: similarity.clarity[k])
        found = f"no groups stand out; the clearest would be {clearest}, with {similarity.clarity[clearest]:.2f} of"
        return f"{found} {LEAST:g} needed: clients look alike, or differ by degrees{planted}"
    return f"{similarity.groups} groups fit best ({best:.2f}){planted}"


def ordered(similarity: ModelSimilarity) -> Array:
    """The cosine matrix with clients group by group."""
    from shoal.analysis.probe import by_group

    order = by_group(similarity.labels_N)
    found: Array = similarity.cosine_NN[order][:, order]
    return found


def blocks(matrix_NN: Array, shades: str, most: int = MOST_ROWS) -> list[str]:
    """A matrix of similarities as characters, means of neighbours where there are many.

    >>> import numpy as np
    >>> blocks(np.array([[1.0, -0.5], [-0.5, 1.0]]), " .:*#")
    ['##  ', '  ##']
    """
    import numpy as np

    cuts = np.array_split(np.arange(len(matrix_NN)), min(most, len(matrix_NN)))
    means = [[matrix_NN[np.ix_(a, b)].mean() for b in cuts] for a in cuts]
    last = len(shades) - 1
    return ["".join(shades[min(last, max(0, int(np.ceil(v * last))))] * 2 for v in row) for row in means]


def pictures(found: Probe) -> Mapping[str, str]:
    """File names and SVG: EDC over MADC and similarities of the first model; with several models the contrast."""
    import numpy as np

    from shoal.report.svg import density, lines, matrix

    first = found.alike[0]
    pairs = np.triu_indices(len(first.madc_NN), 1)
    x, y = first.madc_NN[pairs], first.edc_NN[pairs]
    title = f"{found.data}, {first.model}: {len(x):,} pairs, correlation {first.correlation[found.m]:.3f}"
    made = {
        "edc-madc.svg": density(x, y, first.line, title, "MADC", f"EDC, {found.m} directions"),
        "similarity.svg": matrix(
            ordered(first),
            f"{found.data}, {first.model}: cosine of updates",
            f"{len(found.cohort)} clients in {first.groups} groups; blue alike, white at right angles, red opposed",
        ),
    }
    if len(found.alike) > 1:
        series = {m.upper() if m != "cosine" else m: [a.contrast[m] for a in found.alike] for m in MEASURES}
        sizes = [a.parameters for a in found.alike]
        title = f"{found.data}: relative contrast of {len(found.cohort)} clients' updates"
        made["contrast.svg"] = lines(sizes, series, title, "parameters", "(max - min) / min of pairwise distances")
    return made
