"""The app that `flwr run` starts: a few files that name Shoal's two apps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shoal.errors import BadInput
from shoal.version import __version__

__all__ = ["init_app"]

THEIRS = ("data", "partition", "data_seed", "val", "drift", "engine", "workers", "address")  # a matter of sites

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "federation"
version = "1.0.0"
description = "A federation of Shoal"
license = {{ file = "LICENSE" }}
dependencies = ["flwr>=1.41.0", "shoal=={version}"]

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "shoal"
fab-format-version = 1
flwr-version-target = "1.41.0"

[tool.flwr.app.components]
serverapp = "federation.server_app:app"
clientapp = "federation.client_app:app"

[tool.flwr.app.config]
run = "{run}"        # the words of `shoal run`, without data, which sites have
out = "{out}"        # the run folder on the server, with its full path
resume = false       # go on with the run that is in it
sites = {sites}            # how many sites to wait for before it begins
wait = 600.0         # seconds to wait for them
deadline = 600.0     # seconds that a site may take for a call
poll = 0.5           # seconds between two looks for answers
metrics = ""         # where to answer Prometheus, such as 127.0.0.1:9464; empty: nowhere
"""

FILES: Mapping[str, str] = {
    "federation/__init__.py": '"""A federation of Shoal."""\n',
    "federation/server_app.py": '''\
"""The server: an ordinary run of Shoal, whose clients are at the sites."""

from shoal.flower import server_app

app = server_app()  # a model of your own: server_app(model=make_model)
''',
    "federation/client_app.py": '''\
"""A site: hands messages to the site's own process."""

from shoal.flower import client_app

app = client_app()  # a model of your own: client_app(model="federation.my_model:make_model")
''',
    "LICENSE": "This app holds no more than the names of its parts. Use it as you like.\n",
}


def init_app(folder: Path, run: str = "fedavg rounds=10", out: Path | None = None, sites: int = 3) -> Path:
    """Write the files of an app.

    Args:
        folder: Where to; it must not hold an app yet.
        run: The words of the run.
        out: The run folder on the server; None: beside the folder of the app, which is sent to sites.
        sites: How many sites to wait for.

    Returns:
        The folder.

    >>> import tempfile
    >>> sorted(path.name for path in init_app(Path(tempfile.mkdtemp()) / "app").iterdir())
    ['LICENSE', 'federation', 'pyproject.toml']
    """
    if (folder / "pyproject.toml").exists():
        raise BadInput(f"{folder} holds an app already; choose another folder")
    if set(run) & set('"\\\n'):
        raise BadInput("the words of a run may not hold quotation marks, backslashes or line breaks")
    theirs = [key for key in (word.partition("=")[0] for word in run.split() if "=" in word) if key in THEIRS]
    if theirs:
        raise BadInput(f"{theirs[0]} is a matter of the sites, which have the data; leave it out")
    beside = folder.expanduser().absolute()
    place = (beside.with_name(f"{beside.name}-run") if out is None else out).expanduser().absolute()
    if place.is_relative_to(beside):
        raise BadInput(f"out={place} lies in the app, which is sent to every site; choose a folder outside of it")
    text = PYPROJECT.format(version=__version__, run=run, out=place, sites=sites)
    for name, content in {**FILES, "pyproject.toml": text}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder
