"""Python files of a user's own: imported once, known by their path and by what they said when they were imported."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

from shoal.errors import BadInput, ShoalError

WORD = re.compile(r"(?P<file>.+?\.py):(?P<name>[A-Za-z_][\w.+*-]*)(?P<rest>.*)", re.DOTALL)

_imported: dict[str, tuple[OwnFile, ...]] = {}  # by module: its file, and those of its folder that it imports


@dataclass(frozen=True)
class OwnFile:
    """A file as it was when it was imported.

    Args:
        path: Its full path.
        hash: Of its content.

    >>> OwnFile(Path("/home/ann/mine.py"), "5feceb66").path.name
    'mine.py'
    """

    path: Path
    hash: str


def import_file(path: Path) -> ModuleType:
    """Import a file of a user's own, so that what it declares has a name; its folder stays importable for workers.

    Args:
        path: A Python file.

    Returns:
        The module.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "my_shapes.py"
    >>> _ = file.write_text("corners = 4")
    >>> import_file(file).corners
    4
    """
    file = path.expanduser().resolve()
    if not file.is_file():
        raise BadInput(f"there is no file {path}")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    invalidate_caches()
    before, hashed = set(sys.modules), content_hash(file)
    try:
        found = import_module(file.stem)
    except ShoalError:
        raise
    except (Exception, SystemExit) as e:
        raise BadInput(f"{path} cannot be imported: {type(e).__name__}: {e}") from e
    if Path(found.__file__ or "").resolve() != file:
        raise BadInput(f"{path} has the name of another module, {found.__file__ or file.stem}; give it another name")
    if file.stem not in _imported:
        beside = beside_of(file, set(sys.modules) - before - {file.stem})
        _imported[file.stem] = (OwnFile(file, hashed), *(OwnFile(f, content_hash(f)) for f in beside))
    return found


def own_files(module: str) -> tuple[OwnFile, ...]:
    """The files of a user's own that a module is made of.

    Args:
        module: Its name.

    Returns:
        Its file, then those of the same folder that this one imports; none if it was not imported as a file.

    >>> own_files("pathlib")
    ()
    """
    return _imported.get(module, ())


def imported_as(name: str) -> OwnFile | None:
    """The file of this name, if one was imported in this process."""
    return next((f for files in _imported.values() for f in files if f.path.name == name), None)


def content_hash(path: Path) -> str:
    """A short hash of a file."""
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def beside_of(file: Path, modules: set[str]) -> list[Path]:
    """Files of these modules that lie in the folder of a file or below, and in no place for installed packages."""
    found = {Path(place) for name in modules if (place := getattr(sys.modules.get(name), "__file__", None))}
    near = [p for p in found if p.suffix == ".py" and p.is_relative_to(file.parent)]
    inside = {p: p.relative_to(file.parent).parts for p in near}
    return sorted(p for p, parts in inside.items() if not any(s == "site-packages" or s[0] == "." for s in parts))
