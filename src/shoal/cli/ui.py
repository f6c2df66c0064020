"""`shoal ui`: live pages for all runs of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.failures import guarded

Where = Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder that holds the runs.", show_default=True)]
Host = Annotated[
    str, typer.Option(help="Where to listen; anything but this machine alone needs the token in the address.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")]


@guarded
def ui(folder: Where = Path("runs"), host: Host = "127.0.0.1", port: Port = 8765) -> None:
    """Look at all runs of a folder in a browser, while they go.

    Lists runs, filters and compares them, and follows one round by round, from the files alone: the folder may be
    one that another machine writes to. Nothing can be changed from the pages. Ctrl-C ends it.
    """
    from importlib.util import find_spec

    from shoal.errors import BadInput

    missing = [name for name in ("plotly", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise BadInput(f"shoal ui needs {' and '.join(missing)}; install with: pip install 'shoal[ui]'")
    from shoal.ui.serve import serve

    serve(
        folder.expanduser(), host, port, lambda address: print(f"{folder} at {address}  (Ctrl-C ends it)", flush=True)
    )
