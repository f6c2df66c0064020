"""A run's folder: what lies in it, how it is begun, read and cut back."""

from __future__ import annotations

import csv
import json
import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import tomli_w

from shoal.errors import RunFolderError, ShoalError
from shoal.experiment.history import History
from shoal.experiment.row import Row
from shoal.layout import Layout
from shoal.table import Serving

FORMAT = 1  # 1: the first
CARRIED = {"clients": ("ids", "total"), "members": ("ids", "group", "truth"), "labels": ("samples",)}  # see Folder.rows


class Folder:
    """The files of one run. Nothing is written before `create`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self._written: dict[str, dict[str, Any]] = {}  # what is repeated only when it changes, as last written

    def create(self, config: Mapping[str, Any], version: str) -> None:
        """Begin a run here; a folder that holds one already is left alone."""
        if (self.path / "config.toml").exists():
            raise RunFolderError(
                f"{self.path} already holds a run; choose another out=, or go on with: shoal resume {self.path}"
            )
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            (self.path / "records.jsonl").write_text("")
            (self.path / "events.jsonl").write_text("")
            self._json("environment.json", environment(version))
            self._write_config(config)
        except OSError as e:
            raise RunFolderError(
                f"cannot write the run folder {self.path}: {e.strerror or e}; choose another one with out=DIR"
            ) from e

    @contextmanager
    def begun(self, config: Mapping[str, Any], version: str) -> Iterator[Folder]:
        """Begin a run here; if it cannot even start, the folder is left as it was found."""
        before = set(self.path.iterdir()) if self.path.is_dir() else None
        self.create(config, version)
        try:
            with self.held():
                yield self
        except ShoalError:
            if not any(self.rows()):
                for path in set(self.path.iterdir()) - (before or set()):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                if before is None:
                    self.path.rmdir()
            raise

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else writes here meanwhile; where the system has no such locks, nobody is kept off."""
        with ExitStack() as stack:
            try:
                import fcntl

                self.checkpoints.mkdir(exist_ok=True)
                place = os.open(self.checkpoints, os.O_RDONLY)
                stack.callback(os.close, place)
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise RunFolderError(
                    f"another process is at work in {self.path}; wait until it ends, or stop it first"
                ) from e
            except (ImportError, OSError):
                pass
            yield

    def config(self) -> dict[str, Any]:
        """The resolved settings; a sentence if this is no run folder, or one of another version."""
        path = self.path / "config.toml"
        if not path.is_file():
            raise RunFolderError(f"{self.path} is not a run folder: it has no config.toml")
        try:
            config = tomllib.loads(path.read_text())
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
            raise RunFolderError(f"{path} cannot be read: {e}") from e
        found = config.pop("format", None)
        if found != FORMAT:
            raise RunFolderError(
                f"{self.path} has format {found}, this version of Shoal reads {FORMAT}; use the version that wrote it "
                f"({self.path / 'environment.json'} names it)"
            )
        if "algorithm" not in config:
            raise RunFolderError(f"{path} names no algorithm; it was not written by a run")
        return config

    def change_rounds(self, rounds: int) -> None:
        """Note that the run is to have so many rounds; until they are played it is not complete."""
        (self.path / "summary.json").unlink(missing_ok=True)
        self._write_config({**self.config(), "rounds": rounds})

    def _write_config(self, config: Mapping[str, Any]) -> None:
        text = tomli_w.dumps({"format": FORMAT, **config})
        comment = f"# Resolved settings; `shoal run {self.path / 'config.toml'}` repeats this run.\n"
        self._text("config.toml", comment + text)

    def append(self, row: Row, events: Sequence[Mapping[str, Any]]) -> None:
        """Write a round down: events first, then the record."""
        if events:
            with open(self.path / "events.jsonl", "a") as file:
                file.writelines(json.dumps(e) + "\n" for e in events)
        with open(self.path / "records.jsonl", "a") as file:
            file.write(json.dumps(self._shorten(row)) + "\n")

    def settle(self) -> None:
        """Make sure that what was written is on disk: no checkpoint may be newer than the records."""
        for name in ("events.jsonl", "records.jsonl"):
            with open(self.path / name, "rb") as file:
                os.fsync(file.fileno())

    def _shorten(self, row: Row) -> Row:
        short = dict(row)
        for part, keys in CARRIED.items():
            if part in row:
                before = self._written.setdefault(part, {})
                short[part] = {k: v for k, v in row[part].items() if k not in before or before[k] != v}
                before |= {k: row[part][k] for k in keys if k in row[part]}
        return short

    def rows(self) -> Iterator[Row]:
        """The records; what was left out because it had not changed is put back."""
        carried: dict[str, dict[str, Any]] = {}
        for row in read_lines(self.path / "records.jsonl"):
            for part, keys in CARRIED.items():
                if part in row:
                    before = carried.setdefault(part, {})
                    before |= {k: row[part][k] for k in keys if k in row[part]}
                    row[part] = {**before, **row[part]}
            yield row

    def history(self) -> History:
        return History(list(self.rows()))

    def cut_back(self, round: int) -> None:
        """Forget what was written after a round."""
        for name in ("records.jsonl", "events.jsonl"):
            path = self.path / name
            kept = [e for e in read_lines(path) if e["round"] <= round]
            partial = path.with_name(f".{name}.partial")
            partial.write_text("".join(json.dumps(e) + "\n" for e in kept))
            partial.rename(path)
        self._written = {}
        for row in self.rows():
            self._shorten(row)

    def finish(self, summary: Row, serving: Serving, layout: Layout, ids: tuple[str, ...]) -> None:
        """Models, groups and the summary; the summary is what says that a run is complete."""
        save_models(self.path / "models", serving, layout)
        with open(self.path / "groups.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["client", "group"])
            rows.writerows(serving.groups(ids).items())
        self._json("summary.json", summary)

    def summary(self) -> Row | None:
        """The summary of a complete run, None while it is not."""
        path = self.path / "summary.json"
        try:
            found: Row | None = json.loads(path.read_text()) if path.is_file() else None
        except (OSError, ValueError) as e:
            raise RunFolderError(f"{path} cannot be read: {e}") from e
        return found

    def tracked(self, tracker: str) -> Row | None:
        """What a tracker noted about this run."""
        path = self.path / "track.json"
        try:
            found: dict[str, Row] = json.loads(path.read_text()) if path.is_file() else {}
        except (OSError, ValueError) as e:
            raise RunFolderError(f"{path} cannot be read: {e}") from e
        return found.get(tracker)

    def track(self, tracker: str, note: Row) -> None:
        """Note what a tracker needs to go on with this run."""
        path = self.path / "track.json"
        others = json.loads(path.read_text()) if path.is_file() else {}
        self._json("track.json", {**others, tracker: note})

    def _json(self, name: str, value: Mapping[str, Any]) -> None:
        self._text(name, json.dumps(value, indent=1) + "\n")

    def _text(self, name: str, text: str) -> None:
        partial = self.path / f".{name}.partial"
        partial.write_text(text)
        partial.rename(self.path / name)


def save_models(folder: Path, serving: Serving, layout: Layout) -> None:
    """One file per group with the tensors by name; own models of clients together in one file."""
    from safetensors.numpy import save_file as save_arrays
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    if serving.kind == "own":
        ids = serving.table.ids if serving.table is not None else ()
        save_arrays({"models": serving.models_KP}, folder / "clients.safetensors", metadata={"ids": json.dumps(ids)})
        return
    for k, model_P in enumerate(serving.models_KP):
        tensors = layout.module(model_P).state_dict()  # also what does not travel: frozen and tied parts
        save_file({n: t.clone().contiguous() for n, t in tensors.items()}, folder / f"group_{k}.safetensors")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a file of JSON lines; a last line that was cut off by a crash is left out."""
    try:
        with open(path) as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)
    except (OSError, ValueError) as e:
        raise RunFolderError(f"{path} cannot be read: {e}") from e


def planned(folder: Path) -> list[dict[str, Any]]:
    """The runs of a sweep, as its sweep.json lists them."""
    try:
        found: list[dict[str, Any]] = json.loads((folder / "sweep.json").read_text())
        if not found or not all({"name", "algorithm", "pairs"} == set(entry) for entry in found):
            raise ValueError("it does not list runs")
    except (OSError, ValueError, TypeError) as e:
        raise RunFolderError(f"{folder / 'sweep.json'} cannot be read: {e}") from e
    return found


def environment(version: str) -> dict[str, Any]:
    """What the run ran on."""
    import numpy
    import torch

    from shoal.kernels import native

    return {
        "shoal": version,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "kernels": built[0] if (built := native()) else "none",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "command": sys.argv,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def fresh_path(parent: str | Path, label: str) -> Path:
    """A folder name that is not taken: date, time and label."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    path, n = Path(parent) / f"{stamp}-{label}", 1
    while path.exists():
        path, n = Path(parent) / f"{stamp}-{label}-{n}", n + 1
    return path
