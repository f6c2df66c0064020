"""`shoal run`: one experiment, or a sweep over algorithms and values and one table at its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.finish import finish_run, finish_sweep
from shoal.cli.guard import guarded
from shoal.cli.screen import Format, FormatOption, QuietOption, err
from shoal.cli.words import Request, read_request

if TYPE_CHECKING:
    from shoal.experiment.sweep import Point

Words = Annotated[list[str] | None, typer.Argument(metavar="ALGORITHM|FILE.toml|KEY=VALUE", help="In any order.")]


@guarded
def run(words: Words = None, format: FormatOption = Format.text, quiet: QuietOption = False) -> None:
    """Run an algorithm, or several, on a federation.

    Without any word: fedavg on digits, over in a few seconds. Several algorithms, or a key with several values
    (seed=0,1,2), make a sweep: all combinations in one folder, one table at the end. `shoal list` shows what
    there is; out=DIR names the folder.

    \b
    shoal run fedprox mu=0.1 data=mnist model=mlp rounds=100
    shoal run fedavg local seed=0,1,2
    shoal run settings.toml lr=0.1
    """
    from shoal.experiment.sweep import points

    request = read_request(words or [])
    runs = points(request.algorithms, request.pairs)
    if len(runs) == 1:
        one(runs[0], request.out, format, quiet)
    else:
        several(request, format, quiet)


def one(point: Point, folder: Path | None, format: Format, quiet: bool) -> None:
    from shoal.cli.progress import watching
    from shoal.experiment.api import run
    from shoal.experiment.folder import fresh_path
    from shoal.experiment.prepare import settings_of

    settings, own = settings_of(point.algorithm, point.pairs)
    name = settings.data.partition(":")[0].partition("(")[0]
    folder = folder or fresh_path("runs", f"{point.algorithm}-{name}-s{settings.seed}")
    names = {"federation": settings.data, "model": settings.model}
    keys = {k: getattr(settings, k) for k in point.pairs if k not in ("data", "model", "engine", *own)}
    with watching(err(), folder, quiet) as watch:
        run(point.algorithm, **names, out=folder, engine=settings.engine, observers=[watch], **keys, **own)
    finish_run(folder, format, quiet)


def several(request: Request, format: Format, quiet: bool) -> None:
    from shoal.cli.progress import watching
    from shoal.experiment.folder import fresh_path
    from shoal.experiment.sweep import sweep

    folder = request.out or fresh_path("runs", "sweep")
    with watching(err(), folder, quiet) as watch:
        sweep(request.algorithms, out=folder, tell=watch.announce, **request.pairs)
    finish_sweep(folder, format, quiet)
