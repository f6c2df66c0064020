"""The `shoal` command: wires the commands together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shoal.cli.advise import advise
from shoal.cli.bench import bench
from shoal.cli.compare import compare
from shoal.cli.doctor import doctor
from shoal.cli.fetch import fetch
from shoal.cli.listing import listing
from shoal.cli.partition import partition
from shoal.cli.probe import probe
from shoal.cli.report import report
from shoal.cli.resume import resume
from shoal.cli.run import run
from shoal.cli.screen import Format, FormatOption, emit
from shoal.cli.ui import ui
from shoal.version import __version__

EPILOGUE = """
\b
Start:       shoal run                 fedavg on a small data set
             shoal run fedavg local    two algorithms side by side
             shoal list                what there is to choose from
Exit codes:  0 fine, 1 the run failed, 2 wrong input, 3 data missing,
             4 run folder problem, 130 interrupted
Environment: SHOAL_DATA=DIR  a folder with <name>.npz data sets
             SHOAL_DEBUG=1   show tracebacks
             NO_COLOR=1      no colours
"""

app = typer.Typer(
    name="shoal",
    help="Clustered federated learning: every client gets the model of its group.",
    epilog=EPILOGUE,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def print_version(asked: bool) -> None:
    if asked:
        print(f"shoal {__version__}")
        raise typer.Exit()


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and end.", callback=print_version, is_eager=True)
]


@app.callback()
def common(version: Version = False) -> None:
    """Clustered federated learning: every client gets the model of its group."""


app.command("run")(run)
app.command("resume")(resume)
app.command("compare")(compare)
app.command("report")(report)
app.command("advise")(advise)
app.command("ui")(ui)
app.command("list")(listing)
app.command("partition")(partition)
app.command("probe")(probe)
app.command("fetch")(fetch)
app.command("bench")(bench)
app.command("doctor")(doctor)


@app.command("version")
def version(format: FormatOption = Format.text) -> None:
    """Print the version."""
    if format is Format.json:
        emit({"shoal": __version__})
    else:
        print(f"shoal {__version__}")


def main() -> None:
    """Entry point: characters a terminal cannot show are replaced, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="shoal")
