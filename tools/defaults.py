#!/usr/bin/env python
"""Is a method right out of the box? It is run with its defaults on many federations, planted and not.

    python -m tools.defaults cfl --seeds 10 --out docs/results/cfl-defaults.json
    python -m tools.defaults fedgroup groups=auto --only digits

A planted federation is right if the adjusted Rand index of the last round is at least 0.9, one population if one group
is left. The last accuracy stands beside FedAvg's with the same seed, in which everybody takes part. The values of every
seed go into the JSON file, the counts to the screen, with the least of the seeds' gains on FedAvg in points.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.setup.settings import Settings

FEDERATIONS: dict[str, tuple[str, str]] = {  # data and partition
    "digits permuted 4": ("digits", "permuted:groups=4"),
    "digits permuted 2": ("digits", "permuted:groups=2"),
    "digits permuted 6": ("digits", "permuted:groups=6:clients=24"),
    "digits rotated 4": ("digits", "rotated:groups=4"),
    "digits cluster-dirichlet 4": ("digits", "cluster-dirichlet:groups=4:clients=20"),
    "digits iid": ("digits", "iid"),
    "digits dirichlet 0.5": ("digits", "dirichlet:0.5:clients=20"),
    "digits dirichlet 0.1": ("digits", "dirichlet:0.1:clients=20"),
    "mnist permuted 4": ("mnist", "permuted:groups=4"),
    "mnist rotated 2": ("mnist", "rotated:groups=2"),
    "mnist iid": ("mnist", "iid"),
    "mnist dirichlet 0.5": ("mnist", "dirichlet:0.5:clients=20"),
    "mnist dirichlet 0.1": ("mnist", "dirichlet:0.1:clients=20"),
    "fashion-mnist permuted 4": ("fashion-mnist", "permuted:groups=4"),
}
TABLES: dict[str, dict[str, Any]] = {  # small tables drawn from linear populations
    "tables of 3 populations": {"populations": 3},
    "tables of 1 population": {"populations": 1},
    "wide tables of 3 populations": {"populations": 3, "samples": 25, "columns": 20, "classes": 3},
    "wide tables of 1 population": {"populations": 1, "samples": 25, "columns": 20, "classes": 3},
}


def tables(
    seed: int, populations: int, samples: int = 40, columns: int = 10, classes: int = 4, clients: int = 24
) -> shoal.Federation:
    """Clients with a few dozen rows each; the labels of a population follow weights of its own, with some noise."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(populations, columns, classes))
    arrays = {}
    for i in range(clients):
        x = rng.normal(size=(samples + 20, columns))
        y = (x @ weights[i % populations] + 0.5 * rng.gumbel(size=(len(x), classes))).argmax(1)
        arrays[f"client {i:02d}"] = (x[:samples], y[:samples], x[samples:], y[samples:])
    federation = shoal.Federation.from_arrays(arrays, classes=classes)
    return dataclasses.replace(federation, truth=np.arange(clients) % populations)


def last(method: str, own: dict[str, Any], name: str, seed: int, lr: float) -> dict[str, float]:
    """Accuracy, groups and adjusted Rand index after the last round; of one population 1 for one group, else 0."""
    if name in TABLES:
        data: Any = tables(seed, **TABLES[name])
    else:
        data, own = FEDERATIONS[name][0], {**own, "partition": FEDERATIONS[name][1]}
    run = shoal.run(method, data, seed=seed, lr=lr, engine="serial", eval_every=50, **own)
    row = run.history[-1]
    return {"accuracy": row["accuracy"], "groups": row["groups"], "ari": row.get("ari", float(row["groups"] == 1))}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method")
    parser.add_argument("own", nargs="*", help="keys of the method: groups=auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--lr", default="0.03,0.1")
    parser.add_argument("--only", default="", help="federations with this in their name")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_intermixed_args(words)
    own: dict[str, Any] = dict(word.split("=", 1) for word in asked.own)
    shared = {key: value for key, value in own.items() if key in Settings.model_fields}
    rows = []
    for name in (n for n in (*FEDERATIONS, *TABLES) if asked.only in n):
        for lr in map(float, asked.lr.split(",")):
            each = []
            for seed in range(asked.first, asked.first + asked.seeds):
                found, base = (
                    last(asked.method, own, name, seed, lr),
                    last("fedavg", {"selection": "all", **shared}, name, seed, lr),
                )
                each.append({"seed": seed, **found, "fedavg": base["accuracy"]})
            rows.append({"federation": name, "lr": lr, "runs": each})
            groups = " ".join(str(run["groups"]) for run in each)
            ours, theirs = (100 * np.array([run[key] for run in each]) for key in ("accuracy", "fedavg"))
            right, gain = sum(run["ari"] >= 0.9 for run in each), (ours - theirs).min()
            told = f"{name:28} lr {lr:<4g} right {right:2}/{len(each)}  {ours.mean():.1f} (fedavg {theirs.mean():.1f}"
            print(f"{told}, least gain {gain:+.1f})  groups {groups}", flush=True)
    if asked.out:
        asked.out.write_text(json.dumps({"method": asked.method, "keys": own, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
