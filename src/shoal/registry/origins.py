"""Where what is not Shoal's own came from: noted with a run, and found again by whoever goes on with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError, command
from shoal.registry.files import content_hash, import_file, imported_as, own_files
from shoal.registry.registry import Registry
from shoal.registry.trusted import known, remember

__all__ = ["Origin", "mark", "near", "origins", "recover", "trust"]

Origin = Mapping[str, str]  # a file (path, near, hash) or a package (package, version); and by key what is used of it


def origins(used: Mapping[str, str], registries: Mapping[str, Registry[Any]]) -> list[Origin]:
    """The files and packages that things by name came from; Shoal's own are not mentioned.

    Args:
        used: Names by key, several with commas.
        registries: By key.

    Returns:
        One entry for each file, and for each package.

    >>> origins({}, {})
    []
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for key, name in ((key, name) for key, names in used.items() for name in names.split(",")):
        files, package = own_files(registries[key].module(name)), registries[key].package(name)
        places = [{"path": str(file.path), "hash": file.hash} for file in files]
        if package is not None:
            places = [dict(zip(("package", "version"), package.rsplit(" ", 1), strict=True))]
        for i, place in enumerate(places):  # the first is where it is defined
            entry = found.setdefault(next(iter(place.items())), place)
            entry |= {} if i else {key: ",".join(filter(None, [entry.get(key), name]))}
    return list(found.values())


def near(entries: Sequence[Origin], folder: Path) -> list[Origin]:
    """The same with the way from a folder to each file, by which it is found again where both were moved.

    Args:
        entries: What `origins` gave.
        folder: Of the run.

    Returns:
        New entries.

    >>> near([{"path": "/home/ann/mine.py", "hash": "5f"}], Path("/home/ann/runs/first"))[0]["near"]
    '../../mine.py'
    """
    return [{**e, "near": os.path.relpath(e["path"], folder.resolve())} if "path" in e else e for e in entries]


def mark(entries: Sequence[Origin]) -> str:
    """What tells whether files and packages are still the same: hashes and versions; empty if there are none.

    Args:
        entries: What `origins` gave, or a run folder has.

    Returns:
        Words.

    >>> mark([{"path": "mine.py", "hash": "5f"}, {"package": "ours", "version": "1.0"}]), mark([])
    ('5f ours==1.0', '')
    """
    return " ".join(entry.get("hash") or f"{entry['package']}=={entry['version']}" for entry in entries)


def recover(
    entries: Sequence[Origin], folder: Path, verb: Sequence[object], registries: Mapping[str, Registry[Any]]
) -> list[str]:
    """Import the files of a run that goes on, if they are as they were; what is imported already is the user's wish.

    Args:
        entries: As the run folder has them.
        folder: The run folder.
        verb: The command that needs them, to which a file can be added by hand.
        registries: By key; they know afterwards what the run uses of the files.

    Returns:
        What is not as it was, a sentence each.
    """
    told, files = [], list[tuple[Path, Origin]]()
    for entry in entries:
        if "package" in entry:
            told += [] if (now := installed(entry["package"])) == entry["version"] else [other_version(entry, now)]
        elif given := imported_as(Path(entry["path"]).name):
            if given.hash != entry["hash"]:
                told.append(f"{given.path} is not as it was when {folder} began; the run goes on with it as it is now")
            files.append((given.path, entry))
        else:
            files.append((place_of(entry, folder, verb), entry))
    for file, entry in files:
        import_file(file)
        for key in registries.keys() & entry.keys():
            for name in entry[key].split(","):
                registries[key].named(f"{file}:{name}")
    return told


def place_of(entry: Origin, folder: Path, verb: Sequence[object]) -> Path:
    """Where a file of a run is, as it was then; a sentence if it is nowhere, or another one."""
    places = [p for p in (folder / entry.get("near", ""), Path(entry["path"])) if p.is_file()]
    if not places:
        here = command(*verb, f"FOLDER/{Path(entry['path']).name}")
        raise RunFolderError(f"{folder} needs {entry['path']}, which is not there; say where it is now: {here}")
    same = [p for p in places if content_hash(p) == entry["hash"]]
    if not same:
        now = os.path.relpath(places[0])
        raise RunFolderError(
            f"{now} is not as it was when {folder} began; put it back, or take it as it is now: {command(*verb, now)}"
        )
    if not known(entry["hash"]):
        named = command(*verb, os.path.relpath(same[0]))
        raise RunFolderError(
            f"{folder} is to run the code of {same[0]}, with which no run was begun here; if you trust it, name it: "
            + named
        )
    return same[0]


def trust(entries: Sequence[Origin]) -> None:
    """Note that the user runs these files; from now on whoever goes on with such a run need not name them.

    Args:
        entries: What `origins` gave.
    """
    remember(entry["hash"] for entry in entries if "hash" in entry)


def installed(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def other_version(entry: Origin, now: str | None) -> str:
    """What to know about a package that is not as it was."""
    here = "is not installed here" if now is None else f"is here as {now}"
    return f"the run began with the package {entry['package']} {entry['version']}, which {here}"
