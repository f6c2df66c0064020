"""Weights & Biases: an offline folder in the run folder, for `wandb sync`, unless WANDB_MODE says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from shoal.store.folder import Folder

PROJECT = "shoal"


class WandB:
    """One step per round. The id of the tracked run and the last round are kept in the run folder."""

    def open(self, folder: Folder, parameters: Mapping[str, Any]) -> int:
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # nothing leaves the machine unless the user says so
        import wandb

        known = folder.tracked("wandb") or {"id": uuid4().hex[:8], "round": -1}
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        self._folder, self._id = folder, str(known["id"])
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=self._id,
            name=folder.path.name,
            dir=os.environ.get("WANDB_DIR", str(folder.path)),
            mode=mode,
            resume="allow",
            config=dict(parameters),
            settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False),
        )
        return int(known["round"])

    def log_round(self, round: int, numbers: Mapping[str, float]) -> None:
        self._run.log(dict(numbers), step=round, commit=True)
        self._folder.track("wandb", {"id": self._id, "round": round})

    def log_artifact(self, path: Path) -> None:
        import wandb

        artefact = wandb.Artifact(f"{self._id}-{path.stem}", type="model" if path.is_dir() else "record")
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            artefact.add_file(str(file))
        self._run.log_artifact(artefact)

    def close(self, complete: bool) -> None:
        self._run.finish(exit_code=0 if complete else 1)
