"""A run's folder: what lies in it, how it is begun, read and cut back."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from shoal.errors import RunFolderError, ShoalError, command
from shoal.loop.history import History
from shoal.loop.row import Row
from shoal.registry import near, trust
from shoal.scores import score_of
from shoal.store.environment import environment
from shoal.store.lines import no_run as no_run
from shoal.store.lines import read_lines as read_lines

if TYPE_CHECKING:
    from shoal.registry.origins import Origin

__all__ = ["Folder", "flatten"]

FORMAT = 1  # 1: the first
OWN = "<own>"  # stands in config.toml for something that was given as an object
FREE = ("rounds", "stop", "engine", "workers", "address", "checkpoint_every", "track", "origins")  # may change
CARRIED = {"clients": ("ids", "total"), "members": ("ids", "group", "truth"), "labels": ("samples",)}  # see Folder.rows

Notes = Sequence[Mapping[str, Any]]


class Folder:
    """The files of one run. Nothing is written before `create`.

    Args:
        path: Of the folder, which need not be there yet.

    >>> import tempfile, shoal
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", out=(path := Path(tempfile.mkdtemp()) / "run"))
    >>> folder = Folder(path)
    >>> folder.config()["algorithm"], len(folder.history()), folder.summary()["rounds"]
    ('fedavg', 2, 1)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self._written: dict[str, dict[str, Any]] = {}  # what is repeated only when it changes, as last written

    def create(self, config: Mapping[str, Any], version: str, notes: Notes = ()) -> None:
        """Begin a run here; a folder that holds one already is left alone."""
        self.refuse_if_taken()
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            (self.path / "records.jsonl").write_text("")
            (self.path / "events.jsonl").write_text("")
            self._json("environment.json", environment(version))
            if notes:
                self._json("decision.json", {"notes": list(notes)})
            trust(config.get("origins", ()))
            self._write_config(config)
        except OSError as e:
            raise RunFolderError(
                f"cannot write the run folder {self.path}: {e.strerror or e}; choose another one with out=DIR"
            ) from e

    @contextmanager
    def begin(self, config: Mapping[str, Any], version: str, notes: Notes = ()) -> Iterator[Folder]:
        """Begin a run here; if it cannot even start, the folder is left as it was found."""
        before = set(self.path.iterdir()) if self.path.is_dir() else None
        self.refuse_if_taken()
        with self.lock():  # before anything is written: two may begin at once
            self.create(config, version, notes)
            try:
                yield self
            except ShoalError:
                if not any(self.rows()):
                    for path in set(self.path.iterdir()) - (before or set()):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                    if before is None:
                        self.path.rmdir()
                raise

    def refuse_if_taken(self) -> None:
        """A sentence if a run lies here already."""
        if (self.path / "config.toml").exists():
            raise RunFolderError(
                f"{self.path} already holds a run; choose another out=, or go on with: " + command("resume", self.path)
            )

    @cached_property
    def mark(self) -> str:
        """A short hash of what decides this run's results, by which its checkpoints are known."""
        config = {k: v for k, v in self.config().items() if k not in FREE}
        return hashlib.blake2b(json.dumps(config, sort_keys=True).encode(), digest_size=8).hexdigest()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Nobody else writes here meanwhile; where the system has no such locks, nobody is kept off."""
        with ExitStack() as stack:
            try:
                import fcntl

                self.checkpoints.mkdir(parents=True, exist_ok=True)
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
            raise no_run(self.path)
        try:
            config = tomllib.loads(path.read_text(encoding="utf-8"))
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

    def change(self, **keys: Any) -> None:
        """Note that the run is to have other rounds, or another rule to stop by; until it ends it is not complete."""
        (self.path / "summary.json").unlink(missing_ok=True)
        self._write_config({**self.config(), **keys})

    def change_origins(self, origins: Sequence[Origin]) -> None:
        """Note that the run goes on with files of the user's own, or packages, that are not as they were."""
        trust(origins)
        self._write_config({**self.config(), "origins": list(origins)})

    def _write_config(self, config: Mapping[str, Any]) -> None:
        config = {**config, "origins": near(config["origins"], self.path)} if "origins" in config else config
        text = tomli_w.dumps({"format": FORMAT, **config})
        own = [k for k, v in config.items() if v == OWN]
        comment = f"# Resolved settings; `{command('run', self.path / 'config.toml')}` repeats this run.\n"
        if own:
            comment = f"# Resolved settings; repeat this run in Python, with the same {' and '.join(own)} as objects.\n"
        self._text("config.toml", comment + text)

    def append(self, row: Row, events: Sequence[Mapping[str, Any]]) -> None:
        """Write a round down: events first, then the record."""
        self.append_events(events)
        with open(self.path / "records.jsonl", "a") as file:
            file.write(json.dumps(self._shorten(row)) + "\n")

    def append_events(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Write down what happened."""
        if events:
            with open(self.path / "events.jsonl", "a") as file:
                file.writelines(json.dumps(e) + "\n" for e in events)

    def sync(self) -> None:
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
        return History(list(self.rows()), score_of(self.config()))

    def truncate_after(self, round: int) -> None:
        """Forget what was written after a round, and that the run stopped: whoever ends it again says so again."""
        for name in ("records.jsonl", "events.jsonl"):
            path = self.path / name
            kept = [e for e in read_lines(path) if e["round"] <= round and e.get("kind") != "stopped"]
            partial = path.with_name(f".{name}.partial")
            partial.write_text("".join(json.dumps(e) + "\n" for e in kept))
            partial.rename(path)
        self._written = {}
        for row in self.rows():
            self._shorten(row)

    def finish(self, summary: Row, groups: Mapping[str, int]) -> None:
        """Groups and the summary; the summary is what says that a run is complete."""
        with open(self.path / "groups.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["client", "group"])
            rows.writerows(groups.items())
        self._json("summary.json", summary)

    def summary(self) -> Row | None:
        """The summary of a complete run, None while it is not."""
        path = self.path / "summary.json"
        try:
            found: Row | None = json.loads(path.read_text()) if path.is_file() else None
        except (OSError, ValueError) as e:
            raise RunFolderError(f"{path} cannot be read: {e}") from e
        return found

    def stopped(self, round: int) -> str | None:
        """Why the run stopped after a round before its last; None: it did not."""
        events = read_lines(self.path / "events.jsonl")
        return next((str(e["reason"]) for e in events if e["kind"] == "stopped" and e["round"] == round), None)

    def notes(self) -> tuple[Mapping[str, Any], ...]:
        """Why this algorithm was chosen, if `auto` chose it; see `Plan.notes`."""
        path = self.path / "decision.json"
        try:
            return tuple(json.loads(path.read_text())["notes"]) if path.is_file() else ()
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise RunFolderError(f"{path} cannot be read: {e}") from e

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
        partial.write_text(text, encoding="utf-8")
        partial.rename(self.path / name)


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with an algorithm's own keys beside the others.

    Args:
        config: What `Folder.config` gave.

    Returns:
        One level of keys.

    >>> flatten({"algorithm": "fedprox", "rounds": 3, "fedprox": {"mu": 0.1}})
    {'algorithm': 'fedprox', 'rounds': 3, 'mu': 0.1}
    """
    own = config.get(str(config.get("algorithm")), {})
    return {**{k: v for k, v in config.items() if not isinstance(v, dict) and k != "origins"}, **own}
