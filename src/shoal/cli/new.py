"""`shoal new`: a file to begin with, which runs as it is, and its test, which passes as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.failures import guarded

Kind = Annotated[str, typer.Argument(metavar="KIND", help="algorithm, partition, model or dataset.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as PACFL or by_ward.")]
Where = Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to; default: here.", show_default=False)]


@guarded
def new(kind: Kind, name: Name, folder: Where = Path(".")) -> None:
    """Write a file with a method (or a partition, model, data set) of your own, and its test.

    Both work as they are written: change them step by step, and see at every step that they still do.

    \b
    shoal new algorithm PACFL
    shoal run pacfl.py:PACFL
    pytest test_pacfl.py
    """
    from shoal.cli.new_files import TEMPLATES
    from shoal.errors import command, unknown

    if kind not in TEMPLATES:
        raise unknown("kind", kind, TEMPLATES)
    file, test, called = write(kind, name, folder.expanduser())
    key = {"algorithm": "", "dataset": "data="}.get(kind, f"{kind}=")
    print(f"{file}  {kind} {called}, which runs as it is")
    print(f"{test}  its test: pytest {test}")
    print(f"Next:  {command('run', *(['fedavg'] if key else []), f'{key}{file}:{called}')}")
    if kind == "algorithm":
        print(f"       {command('list', f'{file}:{called}')}")
        row = ("flexcfl/table3", "rows=synthetic", "seeds=1")  # of a paper; its data need no file
        print(f"       {command('reproduce', *row, f'methods={file}:{called}')}")


def write(kind: str, name: str, folder: Path) -> tuple[Path, Path, str]:
    """The two files, and the name of what is in them; nothing that is there is written over."""
    from importlib.util import find_spec

    from shoal.cli.new_files import TEMPLATES
    from shoal.errors import BadInput, RunFolderError

    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise BadInput(f"{name!r} cannot be a name in Python: letters, digits and _, a letter first")
    stem = snake(name)
    called = camel(name) if kind == "algorithm" else stem
    if find_spec(stem) is not None:
        raise BadInput(f"there is a module {stem} already, which {stem}.py would hide; choose another name")
    code, test = TEMPLATES[kind]
    places = (folder / f"{stem}.py", folder / f"test_{stem}.py")
    for place in places:
        if place.exists():
            raise BadInput(f"{place} is there already; choose another name, or another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place, text in zip(places, (code, test), strict=True):
            place.write_text(text.replace("@NAME@", called).replace("@STEM@", stem))
    except OSError as e:
        raise RunFolderError(f"cannot write into {folder}: {e.strerror or e}") from e
    return *places, called


def snake(name: str) -> str:
    """A name as that of a file.

    >>> snake("PACFL"), snake("MyMethod"), snake("by_ward")
    ('pacfl', 'my_method', 'by_ward')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def camel(name: str) -> str:
    """A name as that of a class.

    >>> camel("PACFL"), camel("my_method"), camel("mine")
    ('PACFL', 'MyMethod', 'Mine')
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
