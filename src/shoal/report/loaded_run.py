"""Reads run folders for the report. The only file of the figures' side that touches the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.analysis.compare import NOT_TELLING
from shoal.analysis.further import further_of
from shoal.analysis.measured import measured, names
from shoal.errors import RunFolderError
from shoal.loop.history import History, summarise
from shoal.scores import Score, score_of
from shoal.setup.settings import Settings
from shoal.store.folder import Folder, flatten, read_lines
from shoal.store.sites_file import SitesSeen, read_sites

Row = Mapping[str, Any]


@dataclass(frozen=True)
class LoadedRun:
    """One run as its folder tells it: all that figures are drawn from.

    Attributes:
        name: The folder's.
        path: Where it lies.
        config: The resolved settings.
        history: The records.
        summary: As in summary.json, or made from the records so far.
        events: What happened, in order.
        environment: What the run ran on.
        complete: Whether all rounds are played.
        beside: Runs of baselines next to it, with the same settings.
        sites: Of a federation, as its server last saw them; None: it was simulated.
        class_names: What the classes are called, if the data said so.

    >>> LoadedRun("x", "runs/x", {"algorithm": "ifca", "ifca": {"groups": 2}}, History([]), {}).own
    {'groups': 2}
    """

    name: str
    path: str
    config: Mapping[str, Any]
    history: History
    summary: Row
    events: Sequence[Row] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    beside: Sequence[LoadedRun] = ()
    sites: SitesSeen | None = None
    class_names: Sequence[str] | None = None

    @property
    def algorithm(self) -> str:
        return str(self.config["algorithm"])

    @cached_property
    def own(self) -> Mapping[str, Any]:
        """The algorithm's own settings."""
        own: Mapping[str, Any] = self.config.get(self.algorithm, {})
        return own

    @property
    def score(self) -> Score:
        """The headline figure of the run."""
        return score_of(self.config)

    @cached_property
    def further(self) -> list[Score]:
        """The metrics besides the score that the records hold."""
        found = [metric.score for metric in further_of(self.config, self.history)]
        return [metric for metric in found if any(r.get(metric.name) is not None for r in self.tested)]

    @cached_property
    def has_classes(self) -> bool:
        """Whether what is learnt are classes, so that answers are right or wrong; earlier versions knew no other."""
        of_classes = self.config.get("task", "classification") == "classification"
        return of_classes or any("right" in r.get("clients", {}) for r in self.tested)

    @cached_property
    def tested(self) -> list[Row]:
        """The rounds that were tested, partial ones too."""
        return [r for r in self.history if r.get(self.score.name) is not None]

    @cached_property
    def group_count(self) -> int:
        """How many groups there ever were, empty ones too; 0 for methods without groups."""
        return max((len(r["group_size"]) for r in self.history if "group_size" in r), default=0)

    def group(self, k: int) -> str:
        """What group k is called: its tag where groups are given, else its number."""
        return "no group" if k < 0 else self._tags[k] if k < len(self._tags) else f"group {k}"

    @cached_property
    def _tags(self) -> Sequence[str]:
        return next((found for _, found in measured(self.history[:1], "values", names)), ())

    @cached_property
    def members(self) -> list[tuple[int, Mapping[str, int]]]:
        """Round and the group of every recorded client, round by round."""
        found = [(r["round"], r["members"]) for r in self.history if "members" in r]
        return [(t, dict(zip(m["ids"], m["group"], strict=True))) for t, m in found]

    @cached_property
    def pictures(self) -> list[tuple[int, Row]]:
        """Round and the picture of how alike clients are."""
        return [(r["round"], r["likeness"]) for r in self.history if "likeness" in r]


def read_run(path: str | Path, beside: bool = True, inside: Path | None = None) -> LoadedRun:
    """All that a run folder tells.

    Args:
        path: the folder.
        beside: whether the baselines belong to it that lie next to it and have the same settings.
        inside: the folder in which these must lie, without links; by default anywhere.

    Returns:
        The run, of which figures are drawn.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "ifca"], rounds=1, engine="serial", out=tempfile.mkdtemp())
    >>> loaded = read_run(paths[1])
    >>> loaded.algorithm, [b.algorithm for b in loaded.beside]
    ('ifca', ['fedavg'])
    """
    folder = Folder(path)
    config = folder.config()
    history = folder.history()
    if not len(history):
        raise RunFolderError(f"{folder.path} holds no round yet; there is nothing to report")
    name = folder.path.resolve().name
    written = folder.summary()
    summary = {**summarise(history), **(written or {})}
    events, environment = list(read_lines(folder.path / "events.jsonl")), environment_of(folder.path)
    others = baselines(folder.path, config, inside) if beside else []
    sites, complete = read_sites(folder.path), written is not None
    called = class_names_of(folder.path)
    told = (events, environment, complete, others, sites, called)
    return LoadedRun(name, str(folder.path), config, history, summary, *told)


def strange_files(path: Path) -> list[str]:
    """What in a folder is neither a file nor a folder of its own, such as a link: no run leaves any.

    A folder that came from elsewhere may hold links to files that are none of its business.

    Args:
        path: the folder.

    Returns:
        The names, the folder's own first if it is a link itself.
    """
    with os.scandir(path) as entries:
        inner = [e.name for e in entries if not (e.is_file(follow_symlinks=False) or e.is_dir(follow_symlinks=False))]
    return [path.name, *sorted(inner)] if path.is_symlink() else sorted(inner)


def class_names_of(path: Path) -> Sequence[str] | None:
    """What a run's data call the classes, if they do; runs of earlier versions say nothing of it."""
    found = mapping_in(path / "data.json").get("class_names")
    return [str(name) for name in found] if isinstance(found, list) else None


def environment_of(path: Path) -> Mapping[str, Any]:
    return mapping_in(path / "environment.json")


def mapping_in(file: Path) -> Mapping[str, Any]:
    """What a JSON file holds; nothing if it cannot be read."""
    try:
        found: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, Mapping) else {}


def baselines(path: Path, config: Mapping[str, Any], inside: Path | None) -> list[LoadedRun]:
    """The runs of FedAvg and the like next to a run that share its seed, its data and every common setting."""
    mine, found = common(config), {}
    known = ALGORITHMS.having("baseline")
    if config["algorithm"] in known:
        return []
    place = path.resolve().parent
    if inside is not None and not place.is_relative_to(inside.resolve()):
        return []
    for other in sorted(p.parent for p in place.glob("*/config.toml")):
        if inside is not None and strange_files(other):
            continue
        try:
            theirs = Folder(other).config()
            if theirs["algorithm"] in known and common(theirs) == mine:
                found[theirs["algorithm"]] = read_run(other, beside=False)
        except RunFolderError:  # a folder of another version, or one that has just begun
            continue
    bounds = ALGORITHMS.having("simulation_only")  # come last
    return [found[name] for name in sorted(found, key=lambda name: (name in bounds, name))]


def common(config: Mapping[str, Any]) -> dict[str, Any]:
    """What two runs must share to be compared."""
    flat = flatten(config)
    same = {k: flat.get(k) for k in Settings.model_fields if k not in NOT_TELLING}
    return {**same, **{k: flat.get(k) for k in ("seed", "fingerprint", "model_digest")}}


def read_runs(paths: Iterable[str | Path]) -> list[LoadedRun]:
    """Several run folders, without what lies beside them.

    Args:
        paths: The folders.

    Returns:
        The runs, in the same order.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "ifca"], rounds=1, engine="serial", out=tempfile.mkdtemp())
    >>> [loaded.algorithm for loaded in read_runs(paths)]
    ['fedavg', 'ifca']
    """
    return [read_run(path, beside=False) for path in paths]
