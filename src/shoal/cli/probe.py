"""`shoal probe`: how alike clients learn, before one chooses a method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.guard import guarded
from shoal.cli.screen import Format, FormatOption, emit, err, out, say, table
from shoal.cli.words import allowed

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.experiment.probe import Alike, Probe
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
    from shoal.experiment.probe import KEYS
    from shoal.experiment.probe import probe as look
    from shoal.experiment.sweep import values

    pairs: dict[str, Any] = dict(allowed(words or [], (*KEYS, "model", "clients", "groups")))
    models = values(pairs.pop("model", "mclr"))
    numbers = {key: whole(key, pairs.pop(key)) for key in ("clients", "groups") if key in pairs}
    found = look(None, models, **numbers, **pairs)
    if figure is not None:
        figure = figure.expanduser()
        figure.mkdir(parents=True, exist_ok=True)
        for name, picture in pictures(found).items():
            (figure / name).write_text(picture)
            say(err(), f"wrote {figure / name}")
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
    from shoal.experiment.row import plain

    keys = ("model", "parameters", "contrast", "correlation", "line", "silhouette", "groups", "ari")
    settings = found.settings.model_dump(include={"data", "partition", "seed", "data_seed", "lr", "batch", "steps"})
    shown = [{k: plain(getattr(alike, k)) for k in keys} | {"labels": alike.labels_N.tolist()} for alike in found.alike]
    head = {"kind": "probe", "data": found.data, "clients": found.clients, "looked_at": list(found.cohort)}
    return {**head, "settings": settings, "m": found.m, "models": shown}


def show(console: Console, found: Probe) -> None:
    settings, first = found.settings, found.alike[0]
    work = f"{settings.steps} steps of batch {settings.batch} at learning rate {settings.lr:g}"
    say(console, f"{found.data}: {len(found.cohort)} of {found.clients:,} clients pre-trained, {work}", style="bold")
    rows = [
        [a.model, f"{a.parameters:,}", *(f"{a.contrast[m]:.3g}" for m in MEASURES), f"{a.correlation[found.m]:.3f}"]
        for a in found.alike
    ]
    heads = ["model", "parameters", "L2", "cosine", "MADC", "EDC", "EDC~MADC"]
    console.print(table(heads, rows, right=True))
    say(
        console,
        "L2 to EDC: relative contrast (max - min)/min of all pairwise distances; small: all look alike",
        style="dim",
    )
    say(console, f"EDC~MADC: correlation over all pairs, {found.m} directions", style="dim")
    for alike in found.alike:
        say(console, f"\nHow many groups, {alike.model}: silhouette by number of groups", style="bold")
        say(console, "  ".join(f"{k}: {v:.2f}" for k, v in alike.silhouette.items()))
        say(console, verdict(alike))
    say(console, f"\nWho learns like whom, {first.model}: clients by group", style="bold")
    unicode = console.encoding.lower().startswith("utf")
    for line in blocks(ordered(first), " ░▒▓█" if unicode else " .:*#"):
        say(console, line)
    say(console, "cosine of updates: blank up to 0, darker to 1", style="dim")
    again = " ".join(f"{k}={v}" for k, v in (("data", settings.data), ("partition", settings.partition)) if v)
    say(console, f"\nNext: shoal run fedavg local fedgroup {again} groups={first.groups} lr={settings.lr:g}")


def verdict(alike: Alike) -> str:
    """A sentence on the number of groups that fits best."""
    best = alike.silhouette.get(str(alike.groups), 0.0)
    planted = "" if alike.ari is None else f"; against the planted groups: adjusted Rand index {alike.ari:.2f}"
    if best < 0.15:
        return (
            f"no number fits well (best {best:.2f} with {alike.groups}): clients look alike, or all different{planted}"
        )
    return f"{alike.groups} groups fit best ({best:.2f}){planted}"


def ordered(alike: Alike) -> Array:
    """The cosine matrix with clients group by group."""
    from shoal.experiment.probe import by_group

    order = by_group(alike.labels_N)
    found: Array = alike.cosine_NN[order][:, order]
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

    from shoal.experiment.svg import density, lines, matrix

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
