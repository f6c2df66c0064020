"""Checkpoints: the result of a round as one file, the last two kept; a damaged one is passed over and reported."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from shoal.layout import Layout
from shoal.loop.plan import Plan, RoundResult
from shoal.store import codec
from shoal.store.folder import Folder
from shoal.types import Memory

KEPT = 2


def copied(folder: Folder, result: RoundResult) -> codec.Copied:
    """What a checkpoint holds: the result of a round, as it is now, with the mark of its run.

    Args:
        folder: The run's folder.
        result: The round to save.

    Returns:
        What `save` writes.
    """
    value = {
        "run": folder.mark,
        "round": result.round,
        "state": result.state,
        "memories": dict(result.memories),
        "library": result.library_VP,
        "world": dict(result.data_indices),
    }
    return codec.copied(value)


def save(folder: Folder, round: int, copy: codec.Copied) -> None:
    """Write the checkpoint of a round after all records so far, then remove all but the last ones.

    Args:
        folder: The run's folder.
        round: Its number.
        copy: What `copied` gave.
    """
    folder.sync()
    codec.write_copy(folder.checkpoints / f"round_{round:08d}.safetensors", copy)
    for old in saved(folder.checkpoints)[:-KEPT]:
        old.unlink()


def saved(folder: Path) -> list[Path]:
    """The checkpoints of a folder, oldest first."""
    return sorted(folder.glob("round_*.safetensors"))


def newest(folder: Folder, plan: Plan) -> tuple[RoundResult | None, list[str]]:
    """The newest one of this run that can be read, and a sentence for every newer one that cannot be used.

    Args:
        folder: The run's folder.
        plan: The run, whose state and model the checkpoint must fit.

    Returns:
        The result of a round to go on from, or None; and the sentences.
    """
    complaints: list[str] = []
    for path in reversed(saved(folder.checkpoints)):
        try:
            value = codec.read(path, codec.records_of(plan.algorithm.state))
            if value.get("run", folder.mark) != folder.mark:  # before runs had marks, there was none
                complaints.append(f"checkpoint {path.name} belongs to another run; using the one before it")
                continue
            check_sizes(value, plan.layout)
            return RoundResult(
                value["round"], value["state"], value["memories"], value["library"], data_indices=value["world"]
            ), complaints
        except (codec.Damaged, KeyError, AttributeError) as e:
            complaints.append(f"checkpoint {path.name} is damaged ({e}); using the one before it")
    return None, complaints


def memories(folder: Folder, plan: Plan) -> dict[int, Mapping[str, Memory]]:
    """What clients kept at every checkpoint that a run may go on from, should the newest be damaged.

    Args:
        folder: The run's folder.
        plan: The run.

    Returns:
        Memories of clients by round.
    """
    found: dict[int, Mapping[str, Memory]] = {}
    for path in saved(folder.checkpoints):
        with suppress(codec.Damaged, KeyError, AttributeError):
            value = codec.read(path, codec.records_of(plan.algorithm.state))
            if value.get("run", folder.mark) == folder.mark:
                found[value["round"]] = value["memories"]
    return found


def check_sizes(value: Mapping[str, Any], layout: Layout) -> None:
    """Vectors of the state, whose names end in P as in `w_KP`, and those that clients keep are as long as models."""
    vectors = {name: v for name, v in vars(value["state"]).items() if name.endswith("P") and isinstance(v, np.ndarray)}
    for name, rows in {**vectors, "library": value["library"]}.items():
        if rows.ndim == 0 or rows.shape[-1] != layout.size:
            raise codec.Damaged(f"{name} has shape {rows.shape}, a model {layout.size} numbers")
    for client, memory in value["memories"].items():
        for name, kept in memory.items():
            if name.startswith("velocity") and isinstance(kept, Mapping):
                continue  # the state of an optimiser, which knows itself what fits
            if name.startswith("velocity") and np.shape(kept) != (layout.trainable.stop,):
                raise codec.Damaged(f"{client!r} keeps a momentum of shape {np.shape(kept)}")
