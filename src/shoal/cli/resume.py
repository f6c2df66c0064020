"""`shoal resume`: go on with an interrupted run or sweep, or make a run longer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.arguments import allowed
from shoal.cli.console import Format, FormatOption, QuietOption, echo, err
from shoal.cli.failures import guarded
from shoal.cli.finish import finish_run, finish_sweep
from shoal.errors import BadInput

if TYPE_CHECKING:
    from shoal.setup.settings import Settings

PathArgument = Annotated[
    Path, typer.Argument(metavar="PATH", help="A run folder or a sweep folder.", show_default=False)
]
Words = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="rounds, stop, engine, workers, address.")]


@guarded
def resume(
    path: PathArgument, words: Words = None, format: FormatOption = Format.text, quiet: QuietOption = False
) -> None:
    """Go on with an interrupted run or sweep.

    The result is, bit for bit, that of a run that was never disturbed. rounds=N makes a run longer; stop=RULE gives it
    another rule to end by, stop=never none.
    """
    from shoal.setup.settings import check_settings

    pairs = allowed(words or [], ("rounds", "stop", "engine", "workers", "address"))
    settings = check_settings(pairs)
    engine = settings.engine if "engine" in pairs else None
    path = path.expanduser()
    if (path / "sweep.json").is_file():
        for key in ("rounds", "stop"):
            if key in pairs:
                raise BadInput(f"{path} is a sweep; {key}= works on a single run, so give one of the folders in it")
        resume_sweep(path, engine, settings, format, quiet)
    else:
        resume_run(path, engine, settings, settings.rounds if "rounds" in pairs else None, format, quiet)


def resume_run(
    path: Path, engine: str | None, settings: Settings, rounds: int | None, format: Format, quiet: bool
) -> None:
    from shoal.cli.progress import showing_progress
    from shoal.experiment.api import resume
    from shoal.store.folder import Folder

    planned, summary = Folder(path).config()["rounds"], Folder(path).summary()
    if summary is not None and settings.stop is None and (rounds is None or rounds <= planned):
        why = f"all {planned} rounds are played; rounds=N with a larger N goes on"
        if summary.get("stopped"):
            why = f"it stopped after round {summary['rounds']} ({summary['stopped']}); stop=never goes on"
        if not quiet:
            echo(err(), f"{path} is complete: {why}")
    else:
        with showing_progress(err(), path, quiet) as display:
            resume(
                path,
                engine=engine,
                workers=settings.workers,
                address=settings.address,
                rounds=rounds,
                stop=settings.stop,
                observers=[display],
                progress=False,
            )
    finish_run(path, format, quiet)


def resume_sweep(path: Path, engine: str | None, settings: Settings, format: Format, quiet: bool) -> None:
    from shoal.cli.progress import showing_progress
    from shoal.experiment.sweep import continue_sweep

    with showing_progress(err(), path, quiet) as display:
        continue_sweep(path, engine, display.announce, settings.workers, settings.address)
    finish_sweep(path, format, quiet)
