"""Makes docs/results/cfl-notebook.json and .md: the experiment of the notebook by CFL's authors.

python -m tools.cfl_notebook runs/cfl-notebook

Runs that are there are read, others made or continued.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs" / "results"
SEEDS = (0, 1, 2, 3, 4)
COMMON: dict[str, Any] = {
    "data": "femnist:inverted=true",
    "partition": "rotated:2:clients=10:angle=180:dirichlet=1.0:samples=10000",
    "model": "cfl-notebook",
    "val": 1 / 9,  # of nine tenths: eight tenths train, as in the notebook
    "lr": 0.099,  # the notebook's 0.1 decays before the first round
    "lr_decay": 0.99,
    "momentum": 0.9,
    "momentum_memory": "kept",
    "batch": 128,
    "epochs": 1,
    "rounds": 80,
    "aggregate": "plain-mean",
    "engine": "serial",
}
WAYS: dict[str, dict[str, Any]] = {  # of splitting: as the authors do, as Shoal does by default, not at all
    "notebook": {"criteria": "notebook", "eps1": 0.4, "eps2": 1.6, "bipartition": "complete"},
    "default": {},
    "never": {"eps1": 0.0, "eps2": 0.0},
}


def measure(folder: Path) -> dict[str, Any]:
    """Run what is not there yet, and read what came out."""
    from shoal.experiment.sweep import continue_sweep, sweep

    found: dict[str, Any] = {}
    for way, own in WAYS.items():
        place = folder / way
        there = (place / "sweep.json").exists()
        pairs = {**COMMON, **own, "seed": list(SEEDS)}
        paths = continue_sweep(place) if there else sweep(["cfl"], out=place, **pairs)
        found[way] = {"keys": own, "runs": [told(path) for path in paths]}
    return {"common": COMMON, "ways": found}


def told(path: Path) -> dict[str, Any]:
    """Of one run: its accuracies, its splits, and the norms of the whole federation while it is whole."""
    from shoal.store.folder import Folder, read_lines

    rows = [row for row in Folder(path).rows() if row["round"]]
    splits = [event for event in read_lines(path / "events.jsonl") if event["kind"] == "split"]
    return {
        "run": path.name,
        "kernel": Folder(path).config()["kernel"],
        "accuracy": [row["accuracy"] for row in rows],
        "ari": [row["ari"] for row in rows],
        "splits": [
            {key: split[key] for key in ("round", "mean_norm", "max_norm", "cross", "clients")} for split in splits
        ],
        "norms": [
            [round(one[key], 3) for key in ("mean_norm", "max_norm")]
            for row in rows
            if len(row["measures"]["clusters"]) == 1
            for one in row["measures"]["clusters"].values()
        ],
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = measure(Path(sys.argv[1]))
    (DOCS / "cfl-notebook.json").write_text(json.dumps(found, indent=1) + "\n")
