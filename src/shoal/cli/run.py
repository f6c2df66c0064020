"""`shoal run`: one experiment, or a sweep over algorithms and values and one table at its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.ahead import get_ready
from shoal.cli.arguments import read_request
from shoal.cli.console import Format, FormatOption, QuietOption, err
from shoal.cli.failures import guarded
from shoal.cli.finish import finish_run, finish_sweep

if TYPE_CHECKING:
    from shoal.experiment.sweep import Point

Words = Annotated[list[str] | None, typer.Argument(metavar="ALGORITHM|FILE.toml|KEY=VALUE", help="In any order.")]


@guarded
def run(words: Words = None, format: FormatOption = Format.text, quiet: QuietOption = False) -> None:
    """Run an algorithm, or several, on a federation.

    Without any word: fedavg on digits, over in a few seconds. Several algorithms, or a key with several values
    (seed=0,1,2), make a sweep: all combinations in one folder, one table at the end. `shoal list` shows what
    there is; out=DIR names the folder. In place of an algorithm, auto tries some for a moment, runs the one that
    fits and says why.

    \b
    shoal run auto data=mnist
    shoal run fedprox mu=0.1 data=mnist model=mlp rounds=100
    shoal run fedavg local seed=0,1,2
    shoal run settings.toml lr=0.1
    """
    get_ready(words or [])
    from shoal.experiment.sweep import points

    request = read_request(words or [])
    runs = points(request.algorithms, request.pairs)
    if len(runs) == 1:
        one(runs[0], request.out, format, quiet)
    else:
        several(runs, request.out, format, quiet)


def one(point: Point, folder: Path | None, format: Format, quiet: bool) -> None:
    from shoal.cli.progress import showing_progress
    from shoal.experiment.api import start
    from shoal.store.place import fresh_path

    settings = point.resolved.settings
    name = settings.data.partition(":")[0].partition("(")[0]
    folder = folder or fresh_path("runs", f"{point.algorithm}-{name}-s{settings.seed}")
    with showing_progress(err(), folder, quiet) as display:
        start(point.resolved, None, folder, [display])
    finish_run(folder, format, quiet)


def several(runs: list[Point], folder: Path | None, format: Format, quiet: bool) -> None:
    from shoal.cli.progress import showing_progress
    from shoal.experiment.sweep import start_sweep
    from shoal.store.place import fresh_path

    folder = folder or fresh_path("runs", "sweep")
    with showing_progress(err(), folder, quiet) as display:
        start_sweep(runs, folder, None, display.announce)
    finish_sweep(folder, format, quiet)
