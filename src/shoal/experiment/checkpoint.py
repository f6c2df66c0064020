"""Checkpoints: a moment of a run as one file, the last two kept; a damaged one is passed over and reported."""

from __future__ import annotations

from pathlib import Path

from shoal.experiment import codec
from shoal.experiment.loop import Moment
from shoal.types import Algorithm

KEPT = 2


def save(folder: Path, moment: Moment) -> None:
    """Write the moment, then remove all but the last checkpoints."""
    value = {
        "round": moment.round,
        "state": moment.state,
        "memories": dict(moment.memories),
        "library": moment.library_VP,
        "world": dict(moment.world),
    }
    codec.write(folder / f"round_{moment.round:08d}.safetensors", value)
    for old in saved(folder)[:-KEPT]:
        old.unlink()


def saved(folder: Path) -> list[Path]:
    """The checkpoints of a folder, oldest first."""
    return sorted(folder.glob("round_*.safetensors"))


def newest(folder: Path, algorithm: Algorithm) -> tuple[Moment | None, list[str]]:
    """The newest moment that can be read, and a sentence for every newer one that cannot."""
    complaints: list[str] = []
    for path in reversed(saved(folder)):
        try:
            value = codec.read(path, codec.records_of(algorithm.state))
            return Moment(
                value["round"], value["state"], value["memories"], value["library"], world=value["world"]
            ), complaints
        except codec.Damaged as e:
            complaints.append(f"checkpoint {path.name} is damaged ({e}); using the one before it")
    return None, complaints
