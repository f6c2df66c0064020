"""`shoal export`: the models of a run for use elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import Format, FormatOption, echo, emit, out
from shoal.cli.failures import guarded

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="DIR", help="Where the models go.", show_default=False)]
Onnx = Annotated[bool, typer.Option("--onnx", help="Also as ONNX, preprocessing inside.")]


@guarded
def export(run: RunFolder, folder: Target, onnx: Onnx = False, format: FormatOption = Format.text) -> None:
    """Write the models of a run for use elsewhere: a file per group that says what it takes, and a card.

    The data of the run are not needed. In Python, shoal.load_model(FILE) gives a module with its preprocessing inside.
    """
    from shoal.experiment.loading import load

    written = load(run.expanduser()).export(folder.expanduser(), onnx)
    files = sorted(path.name for path in written.iterdir() if path.suffix in (".safetensors", ".onnx", ".md"))
    if format is Format.json:
        emit({"kind": "export", "folder": str(written), "files": files})
    else:
        models = sum(name.endswith(".safetensors") for name in files)
        what = f"{models} models" if models > 1 else "1 model"
        echo(out(), f"Export: {written} ({what}); README.md is the card, shoal.load_model(FILE) loads one")
