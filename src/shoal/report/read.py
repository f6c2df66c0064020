"""Reads run folders for the report. The only file of the figures' side that touches the disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.experiment.compare import NOT_TELLING, flatten
from shoal.experiment.config import Settings
from shoal.experiment.folder import Folder, read_lines
from shoal.experiment.history import History, summarise

Row = Mapping[str, Any]
BASELINES = ("fedavg", "local", "central")


@dataclass(frozen=True)
class Told:
    """One run as its folder tells it: all that figures are drawn from."""

    name: str  # the folder's
    path: str
    config: Mapping[str, Any]
    history: History
    summary: Row
    events: Sequence[Row] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    beside: Sequence[Told] = ()  # FedAvg and the like with the same settings

    @property
    def algorithm(self) -> str:
        return str(self.config["algorithm"])

    @cached_property
    def own(self) -> Mapping[str, Any]:
        """The algorithm's own settings."""
        own: Mapping[str, Any] = self.config.get(self.algorithm, {})
        return own

    @cached_property
    def tested(self) -> list[Row]:
        """The rounds that were tested, partial ones too."""
        return [r for r in self.history if r.get("accuracy") is not None]

    @cached_property
    def group_count(self) -> int:
        """How many groups there ever were, empty ones too; 0 for methods without groups."""
        return max((len(r["group_size"]) for r in self.history if "group_size" in r), default=0)

    def group(self, k: int) -> str:
        """What group k is called: its tag where groups are given, else its number."""
        values: Sequence[str] = self.history[0].get("measures", {}).get("values", ())
        return "no group" if k < 0 else str(values[k]) if k < len(values) else f"group {k}"

    @cached_property
    def members(self) -> list[tuple[int, Mapping[str, int]]]:
        """Round and the group of every recorded client, round by round."""
        found = [(r["round"], r["members"]) for r in self.history if "members" in r]
        return [(t, dict(zip(m["ids"], m["group"], strict=True))) for t, m in found]

    @cached_property
    def pictures(self) -> list[tuple[int, Row]]:
        """Round and the picture of how alike clients are."""
        return [(r["round"], r["likeness"]) for r in self.history if "likeness" in r]


def read_run(path: str | Path, beside: bool = True) -> Told:
    """A run folder; `beside`: with the baselines that lie next to it and have the same settings.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "ifca"], rounds=1, engine="serial", out=tempfile.mkdtemp())
    >>> told = read_run(paths[1])
    >>> told.algorithm, [b.algorithm for b in told.beside]
    ('ifca', ['fedavg'])
    """
    folder = Folder(path)
    config = folder.config()
    history = folder.history()
    if not len(history):
        raise RunFolderError(f"{folder.path} holds no round yet; there is nothing to report")
    name = folder.path.resolve().name
    told = folder.summary()
    summary = {**summarise(history), **(told or {})}
    events, environment = list(read_lines(folder.path / "events.jsonl")), environment_of(folder.path)
    others = baselines(folder.path, config) if beside else []
    return Told(name, str(folder.path), config, history, summary, events, environment, told is not None, others)


def environment_of(path: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads((path / "environment.json").read_text())
    except (OSError, ValueError):
        return {}
    return found


def baselines(path: Path, config: Mapping[str, Any]) -> list[Told]:
    """The runs of FedAvg and the like next to a run that share its seed, its data and every common setting."""
    mine, found = common(config), {}
    if config["algorithm"] in BASELINES:
        return []
    for other in sorted(p.parent for p in path.resolve().parent.glob("*/config.toml")):
        try:
            theirs = Folder(other).config()
            if theirs["algorithm"] in BASELINES and common(theirs) == mine:
                found[theirs["algorithm"]] = read_run(other, beside=False)
        except RunFolderError:  # a folder of another version, or one that has just begun
            continue
    return [found[name] for name in BASELINES if name in found]


def common(config: Mapping[str, Any]) -> dict[str, Any]:
    """What two runs must share to be compared."""
    flat = flatten(config)
    same = {k: flat.get(k) for k in Settings.model_fields if k not in NOT_TELLING}
    return {**same, **{k: flat.get(k) for k in ("seed", "fingerprint", "model_digest")}}


def read_runs(paths: Iterable[str | Path]) -> list[Told]:
    """Several run folders, without what lies beside them."""
    return [read_run(path, beside=False) for path in paths]
