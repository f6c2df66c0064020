"""MLflow: a database and artefacts in `mlruns` beside the run folder, or where MLFLOW_TRACKING_URI says."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.store.folder import Folder

EXPERIMENT = "shoal"
ALWAYS = "time/round"  # a number that every record has


class MLflow:
    """One batch per round; the id of the tracked run is kept in the run folder."""

    def open(self, folder: Folder, parameters: Mapping[str, Any]) -> int:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing leaves the machine unless the user says so
        from mlflow.entities import Param

        self._client, experiment = connect(folder.path.absolute().parent / "mlruns")
        known = folder.tracked("mlflow")
        if known is not None:
            self._id = str(known["id"])
            self._client.update_run(self._id, status="RUNNING")
            return max((m.step for m in self._client.get_metric_history(self._id, ALWAYS)), default=-1)
        self._id = self._client.create_run(experiment, run_name=folder.path.name).info.run_id
        folder.track("mlflow", {"id": self._id})
        self._client.log_batch(self._id, params=[Param(k, str(v)) for k, v in parameters.items()])
        return -1

    def log_round(self, round: int, numbers: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        self._client.log_batch(self._id, metrics=[Metric(k, v, now, round) for k, v in numbers.items()])

    def log_artifact(self, path: Path) -> None:
        if path.is_dir():
            self._client.log_artifacts(self._id, str(path), path.name)
        else:
            self._client.log_artifact(self._id, str(path))

    def close(self, complete: bool) -> None:
        self._client.set_terminated(self._id, "FINISHED" if complete else "KILLED")


def connect(place: Path) -> tuple[Any, str]:
    """A client and the id of the experiment: the user's server if the environment names one, else a local folder."""
    from mlflow.tracking import MlflowClient

    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    local = "MLFLOW_TRACKING_URI" not in os.environ
    if local:
        place.mkdir(parents=True, exist_ok=True)
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # says at length that it makes tables
    client = MlflowClient(f"sqlite:///{place / 'mlflow.db'}" if local else None)
    found = client.get_experiment_by_name(name)
    if found is not None:
        return client, found.experiment_id
    return client, client.create_experiment(name, (place / "artifacts").as_uri() if local else None)
