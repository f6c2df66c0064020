"""`shoal advise`: what the records of finished runs say that one would miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, out
from shoal.cli.failures import guarded
from shoal.errors import command as suggested

if TYPE_CHECKING:
    from shoal.analysis.advice import Advice

Paths = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, sweeps, or folders of runs.")]


@guarded
def advise(paths: Paths, format: FormatOption = Format.text) -> None:
    """Read finished runs and say what one would miss.

    Why CFL split a cluster or did not, a number of groups that looks wrong, empty groups,
    clients without a model, groups that gain nothing. Each sentence has the numbers it rests on and, where
    there is one, the command to try.
    """
    from shoal.analysis.advice import advise as look
    from shoal.analysis.advice import advise_across
    from shoal.analysis.compare import expand
    from shoal.store.folder import Folder, flatten

    folders = [Folder(path) for path in expand([path.expanduser() for path in paths])]
    found = []
    for folder in folders:
        config = folder.config()
        name = str(config["algorithm"])
        found.append((folder, config, look(name, flatten(config), folder.history())))
    common = advise_across(folders) if len(folders) > 1 else []
    if format is Format.json:
        runs = [
            {"folder": str(f.path), "complete": f.summary() is not None, "advice": documents(a, f.path)}
            for f, _, a in found
        ]
        emit({"kind": "advice", "runs": runs, "together": documents(common)})
        return
    console = out()
    for folder, config, several in found:
        state = "" if folder.summary() is not None else " (not complete)"
        echo(console, f"{folder.path}: {config['algorithm']} on {config.get('data')}{state}", style="bold")
        tell(several, folder.path)
    if common:
        echo(console, "all together", style="bold")
        tell(common)


def tell(several: Sequence[Advice], folder: Path | None = None) -> None:
    console = out()
    for advice in several:
        echo(console, f"  {advice.about}: {advice.text}")
    changes = merged(several)
    if changes and folder is not None:
        echo(console, f"  try: {again(changes, folder)}")
    if not several:
        echo(console, "  nothing stands out")


def merged(several: Sequence[Advice]) -> dict[str, Any]:
    """The keys to change, of several pieces of advice the first that names a key."""
    changes: dict[str, Any] = {}
    for advice in several:
        changes |= {key: value for key, value in advice.change.items() if key not in changes}
    return changes


def again(changes: Mapping[str, Any], folder: Path) -> str:
    """What to type; a federation is repeated by its app, whose words are to be others."""
    return f"{' '.join(words(changes))} in the words of the app's run" if at_sites(folder) else command(changes, folder)


def at_sites(folder: Path) -> bool:
    """Whether a run's clients were at real sites."""
    from shoal.store.folder import Folder

    return bool(Folder(folder).config().get("engine") == "flower")


def command(changes: Mapping[str, Any], folder: Path) -> str:
    """The run again with other keys; `config.toml` repeats it.

    >>> command({"eps1": 0.1}, Path("runs/first"))
    'shoal run runs/first/config.toml eps1=0.1'
    """
    return suggested("run", folder / "config.toml", *words(changes))


def words(changes: Mapping[str, Any]) -> list[str]:
    return [f"{k}={v}" for k, v in changes.items()]


def documents(several: Sequence[Advice], folder: Path | None = None) -> list[dict[str, Any]]:
    """Advice for programs."""
    from shoal.loop.row import to_json

    place = None if folder is None or at_sites(folder) else folder
    return [
        to_json(asdict(a)) | {"command": command(a.change, place) if a.change and place is not None else None}
        for a in several
    ]
