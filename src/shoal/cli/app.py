"""The `shoal` command: wires the commands together."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import click
import typer
from typer.core import TyperGroup

from shoal.cli.advise import advise
from shoal.cli.arguments import import_files, refuse_command, refuse_option
from shoal.cli.bench import bench
from shoal.cli.compare import compare
from shoal.cli.console import Format, FormatOption, emit
from shoal.cli.deploy import deploy
from shoal.cli.doctor import doctor
from shoal.cli.export import export
from shoal.cli.failures import guarded
from shoal.cli.fetch import fetch
from shoal.cli.listing import listing
from shoal.cli.new import new
from shoal.cli.partition import partition
from shoal.cli.probe import probe
from shoal.cli.report import report
from shoal.cli.reproduce import reproduce
from shoal.cli.resume import resume
from shoal.cli.run import run
from shoal.cli.selfcheck import selfcheck
from shoal.cli.ui import ui
from shoal.version import __version__

EPILOGUE = """
\b
Start:       shoal run                 fedavg on a small data set
             shoal run auto            a method is chosen, and it says why
             shoal run fedavg local    two algorithms side by side
             shoal list                what there is to choose from
Own parts:   shoal new algorithm Mine  a file to begin with, and its test
             shoal run mine.py:Mine    a method of your own, with its keys
             shoal run mine.py toy     a Python file is imported first, by
                                       every command
Exit codes:  0 fine, 1 the run failed, 2 wrong input, 3 data missing,
             4 run folder problem, 130 interrupted
Environment: SHOAL_DATA=DIR  a folder with <name>.npz data sets
             SHOAL_DEBUG=1   show tracebacks
             NO_COLOR=1      no colours
"""


class Plain(click.HelpFormatter):
    """Help as plain text: Typer puts a backslash before brackets for Rich, also where Rich does not print."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(first, second.replace("\\[", "[")) for first, second in rows], col_max, col_spacing)


class PlainContext(click.Context):
    """Of commands whose help is plain text."""

    formatter_class = Plain


class Commands(TyperGroup):
    """The commands. A word that is a Python file is imported before any of them looks at the others."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        files = [word for word in args if word.endswith(".py") and "=" not in word and not word.startswith("-")]
        if files:
            guarded(import_files)(files)
        return super().parse_args(ctx, [word for word in args if word not in files])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            found.context_class = PlainContext
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of this name, or one sentence with the nearest."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            guarded(refuse_command)(args[0], list(self.commands))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """The command with its words; a key that is written as an option is explained."""
        words = list(ctx.args)
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as e:
            takes = e.ctx.command.params if e.ctx is not None else []
            if any("KEY=VALUE" in str(p.metavar) for p in takes if isinstance(p, click.Argument)):
                guarded(refuse_option)(words)
            raise


app = typer.Typer(
    name="shoal",
    cls=Commands,
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
app.command("export")(export)
app.command("advise")(advise)
app.command("ui")(ui)
app.command("list")(listing)
app.command("new")(new)
app.command("partition")(partition)
app.command("probe")(probe)
app.command("fetch")(fetch)
app.command("bench")(bench)
app.command("reproduce")(reproduce)
app.command("doctor")(doctor)
app.command("selfcheck")(selfcheck)
app.add_typer(deploy)


@app.command("version")
def version(format: FormatOption = Format.text) -> None:
    """Print the version."""
    if format is Format.json:
        emit({"shoal": __version__})
    else:
        print(f"shoal {__version__}")


def main() -> None:
    """Entry point: characters a terminal cannot show are replaced, never an error."""
    gc.set_threshold(100_000, 20, 100)  # importing torch makes a million objects that stay: do not look at them often
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="shoal")
    finally:
        gc.freeze()  # nor when Python ends, which frees them one by one for nothing
