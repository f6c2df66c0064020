"""The runs of a folder as a list that can be asked again and again: what is new is read, nothing is written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any, Literal

from shoal.analysis.measured import number
from shoal.analysis.table import clients_of
from shoal.errors import RunFolderError
from shoal.loop.history import HIDDEN, History, summarise
from shoal.loop.row import Row
from shoal.report.figures.curves import whom
from shoal.report.loaded_run import environment_of, strange_files
from shoal.scores import score_of
from shoal.store.folder import Folder, flatten
from shoal.store.sites_file import NAME as SITES
from shoal.store.sites_file import SitesSeen, read_sites
from shoal.ui.answers import linked
from shoal.ui.metrics import Sample, samples_of
from shoal.ui.tail import Tail

DEPTH = 4  # folders below the one that is shown in which runs are looked for
LIGHT = ("traffic", "diagnostic", "time")  # nested parts of a record that are kept for the list
BREATH = 1.0  # seconds between two looks at the disk, however many pages ask
PATIENCE = 30.0  # seconds of silence, at least, after which a run is no longer called running
CURVE = 60  # points of the small curve in the list

# What files that no run wrote may lead to.
NONSENSE = (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError)

State = Literal["complete", "running", "silent"]


@dataclass(frozen=True)
class Entry:
    """One line of the list. `version` grows with every change that the files show."""

    path: str  # from the folder that is shown
    algorithm: str
    seed: int
    settings: Mapping[str, Any]
    started: float | None  # seconds since 1970; None if the folder does not tell
    rounds: int  # planned
    version: int = 0
    state: State = "silent"
    round: int = -1  # played; -1: none yet
    metric: str = "accuracy"  # what the score is called
    percent: bool = True
    better: str = "higher"
    score: float | None = None
    whom: str = ""  # the score is about, if not all clients
    best: float | None = None
    best_whom: str = ""
    worst: float | None = None
    groups: float | None = None
    ari: float | None = None
    bytes: int = 0
    seconds: float = 0.0
    curve: tuple[float, ...] = ()
    sites: str = ""  # of a federation: how many are there
    watched: float = 0.0  # when its server last looked
    sweep: str = ""  # the folder of the sweep it belongs to, from the one that is shown
    problem: str = ""  # why the folder cannot be read

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "settings": {k: str(v) for k, v in self.settings.items()}}


def state_of(complete: bool, silence: float, pace: float) -> State:
    """What a run does, as far as its files tell: a round may take ten times the usual before it counts as silent.

    >>> state_of(True, 0, 1), state_of(False, 20, 1), state_of(False, 100, 1), state_of(False, 100, 20)
    ('complete', 'running', 'silent', 'running')
    """
    if complete:
        return "complete"
    return "running" if silence < max(PATIENCE, 10 * pace) else "silent"


@dataclass
class Watched:
    """What is known of one run."""

    folder: Path
    tail: Tail
    rows: list[Row] = field(default_factory=list)
    heard: float = 0.0  # when the records last changed, by our own clock
    config: Mapping[str, Any] = field(default_factory=dict)
    stamp: float = -1.0  # of the config file
    started: float | None = None
    odd: str = ""  # why the files cannot be understood
    entry: Entry | None = None
    sites: SitesSeen | None = None
    samples: tuple[int, list[Sample]] = (-1, [])  # of a version of the entry


class Runs:
    """The runs under a folder. Safe to be asked from several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._known: dict[str, Watched] = {}
        self._looked = -BREATH
        self._lock = threading.Lock()

    def look(self) -> dict[str, Entry]:
        """The runs by path, as the disk shows them now."""
        with self._lock:
            if time.monotonic() - self._looked >= BREATH:
                found = {str(path.relative_to(self.root)): path for path in run_folders(self.root)}
                self._known = {k: self._known.get(k) or new(path) for k, path in found.items()}
                for path, watched in self._known.items():
                    refresh(path, watched)
                self._looked = time.monotonic()
            return {path: w.entry for path, w in self._known.items() if w.entry is not None}

    def folder(self, path: str) -> Path:
        """The folder of a run in the list; nothing else can be asked for."""
        self.look()
        with self._lock:
            if path not in self._known:
                raise RunFolderError("there is no such run in this folder")
            return self._known[path].folder

    def samples(self) -> list[Sample]:
        """What Prometheus is told of all runs that can be read; a folder that is one run is known by its own name."""
        self.look()
        with self._lock:
            for path, watched in self._known.items():
                entry = watched.entry
                if entry is not None and watched.samples[0] != entry.version:
                    watched.samples = entry.version, samples_from(self.root.name if path == "." else path, watched)
            return [sample for watched in self._known.values() for sample in watched.samples[1]]


def samples_from(name: str, watched: Watched) -> list[Sample]:
    """What Prometheus is told of a run; nothing of one whose files make no sense."""
    if watched.entry is None or watched.entry.problem:
        return []
    try:
        return list(samples_of(name, flatten(watched.config), watched.entry.state, watched.rows, watched.sites))
    except NONSENSE:
        return []


def run_folders(root: Path, depth: int = DEPTH) -> Iterator[Path]:
    """The run folders at or below a folder, in order. Links are not followed: they may lead outside."""
    try:
        if (root / "config.toml").is_file():
            yield root
            return
        inner = sorted(e.path for e in os.scandir(root) if e.is_dir(follow_symlinks=False) and e.name[:1] != ".")
    except OSError:
        return
    for path in inner if depth else ():
        yield from run_folders(Path(path), depth - 1)


def new(folder: Path) -> Watched:
    tail = Tail(folder / "records.jsonl")
    try:
        age = time.time() - max(file.stat().st_mtime for file in (tail.path, folder / SITES) if file.exists())
    except (OSError, ValueError):
        age = 0.0
    return Watched(folder, tail, heard=time.monotonic() - max(age, 0.0))


def refresh(path: str, watched: Watched) -> None:
    """Read what is new of a run; its entry changes only if something did."""
    before, problem, changed = watched.entry, "", False
    try:
        if strange := strange_files(watched.folder):
            raise RunFolderError(linked(strange))
        stamp = (watched.folder / "config.toml").stat().st_mtime
        if stamp != watched.stamp:
            watched.config, watched.stamp, changed = Folder(watched.folder).config(), stamp, True
            watched.started = started_at(environment_of(watched.folder))
    except (OSError, RunFolderError) as e:
        problem = str(e)
    anew, fresh = watched.tail.more() if not problem else (False, [])
    if anew:
        watched.rows.clear()
    watched.rows += [{k: v for k, v in r.items() if k in LIGHT or k not in HIDDEN} for r in fresh]
    if (fresh or anew) and before is not None:
        watched.heard = time.monotonic()
    version = before.version if before is not None else 0
    entry = before or Entry(path, "?", 0, {}, None, 0)
    if before is None or changed or fresh or anew:
        try:
            entry, watched.odd = replace(describe(path, watched), version=version), ""
        except NONSENSE as e:
            watched.odd = f"the files of this run make no sense: {type(e).__name__} {e}"
    watched.sites = seen = None if problem else read_sites(watched.folder)
    if seen is not None:
        if before is not None and seen.at != before.watched:  # a round of real sites may take long
            watched.heard = time.monotonic()
        entry = replace(entry, sites=seen.words, watched=seen.at)
    complete = (watched.folder / "summary.json").is_file()
    entry = replace(entry, sweep=sweep_of(path, watched.folder))
    state = state_of(complete, time.monotonic() - watched.heard, entry.seconds / max(entry.round, 1))
    entry = replace(entry, state=state, problem=problem or watched.odd)
    watched.entry = before if entry == before else replace(entry, version=entry.version + 1)


def describe(path: str, watched: Watched) -> Entry:
    """The entry of a run from what was read of it."""
    config, rows, score = watched.config, watched.rows, score_of(watched.config)
    tested = [r for r in rows if r.get(score.name) is not None]
    entry = Entry(
        path,
        metric=score.title,
        percent=score.percent,
        better=score.better,
        algorithm=str(config.get("algorithm", "?")),
        seed=int(config.get("seed", 0)),
        settings=flatten(config),
        started=watched.started,
        rounds=int(config.get("rounds", 0)),
    )
    if not rows:
        return entry
    found = summarise(History(rows, score))
    partial = found[score.key("best")] is None and score.key("best_partial") in found
    return replace(
        entry,
        round=found["rounds"],
        score=number(tested[-1][score.name]) if tested else None,
        whom=whom(tested[-1]) if tested else "",
        best=number(found[score.key("best_partial" if partial else "best")]),
        best_whom=clients_of(found["best_partial_clients"], found["best_partial_of"]) if partial else "",
        worst=number(tested[-1].get("worst")) if tested else None,
        groups=number(found["groups"]),
        ari=number(rows[-1].get("ari")),
        bytes=found["bytes"],
        seconds=found["seconds"],
        curve=tuple(float(f"{r[score.name]:.4g}") for r in thin(tested, CURVE)),
    )


def sweep_of(path: str, folder: Path) -> str:
    """The sweep that a run belongs to: the folder it lies in, if that is one and below the one that is shown."""
    parent = PurePath(path).parent
    return str(parent) if parent.name and (folder.parent / "sweep.json").is_file() else ""


def started_at(environment: Mapping[str, Any]) -> float | None:
    """When a run began, as it wrote it down; a copied or touched file has another time.

    >>> started_at({"started": "1970-01-01T01:00:00+00:00"}), started_at({"started": "soon"}), started_at({})
    (3600.0, None, None)
    """
    try:
        return datetime.fromisoformat(environment["started"]).timestamp()
    except NONSENSE:
        return None


def thin(rows: list[Row], most: int) -> list[Row]:
    """Some rows of many, evenly, the last among them.

    >>> [r["round"] for r in thin([{"round": i} for i in range(10)], 4)]
    [0, 3, 6, 9]
    """
    n = len(rows)
    return rows if n <= most else [rows[round(i * (n - 1) / (most - 1))] for i in range(most)]
