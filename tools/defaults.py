#!/usr/bin/env python
"""Are methods right out of the box? They are run with their defaults on many federations, planted and not.

    python -m tools.defaults cfl
    python -m tools.defaults fedgroup,flexcfl,fesem,wecfl groups=auto --only digits
    python -m tools.defaults given selection=all --only cluster-dirichlet
    python -m tools.defaults fedavg selection=all aggregate=plain-mean --only dirichlet
    python -m tools.defaults --page     (writes docs/results/defaults.md from what is there)

A planted federation is right if the adjusted Rand index of the last round is at least 0.9, one population if one group
is left. The last accuracy stands beside FedAvg's with the same seed, in which everybody takes part. The values of every
seed go into docs/results/defaults.json, row by row: what is there already is not run again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.data.build import partition_named
from shoal.data.dataset import Dataset
from shoal.data.datasets import DATASETS
from shoal.data.samples import Inputs
from shoal.seeds import Key
from shoal.setup.settings import Settings

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
HEAD = """# Right out of the box?

```
python -m tools.defaults cfl
python -m tools.defaults fedgroup,flexcfl,fesem,wecfl groups=auto
python -m tools.defaults given selection=all --only cluster-dirichlet
python -m tools.defaults fedavg selection=all aggregate=plain-mean --only "digits dirichlet"
python -m tools.defaults fesem groups=auto weighting=samples --only "digits dirichlet"
python -m tools.defaults --page
```

Methods with their defaults, ten seeds each, 50 rounds. *Right*: the adjusted Rand index of the last round is at least
0.9 where groups are planted, one group is left where there are none. *Least gain*: in points of the last accuracy on
FedAvg with everybody, of the worst seed. [defaults.json](defaults.json) has the values of every seed.
"""
BELOW = """## Where a method ends below FedAvg

Rows of 50 rounds with a seed more than a point below FedAvg, beside what tells why. Where groups by labels are planted,
that is `given selection=all`: the planted groups themselves, told to the method. A few hundred test samples (188 on
`digits`, where one is half a point) and groups with a quarter of the samples each: on single seeds one model for all
wins against the truth, and no method that finds the truth can be better there. On one population `fesem` is told
apart from FedAvg by its weights alone: it counts every client the same, as its paper defines it, so that `fedavg
selection=all aggregate=plain-mean` is what it should equal; what is left is the seed on which it, as `wecfl`, found
eight groups. `fesem groups=auto weighting=samples` (below) loses nothing but on that seed. *Behind*: in points of the
last accuracy, against that reference with the same seed, worst seed.

| method | federation | lr | least gain | reference | its least gain | behind | groups by seed |
| --- | --- | --- | --- | --- | --- | --- | --- |"""
ORACLE = ("given", {"selection": "all"})
PLAIN = ("fedavg", {"selection": "all", "aggregate": "plain-mean"})
COLUMNS = (
    "| federation | lr | right | accuracy | FedAvg | least gain | groups by seed |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)
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
    "mnist rotated 2": ("mnist", "rotated:groups=2:angle=180"),
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


@cache
def scaled(name: str) -> Dataset:
    """A data set whose samples are inputs already: what a run would do in every round is done once for all runs."""
    dataset: Dataset = DATASETS[name]()
    return dataclasses.replace(dataset, x=dataset.inputs(dataset.x), inputs=Inputs())


def dealt(data: str, partition: str, seed: int) -> shoal.Federation:
    """The federation that a run of this seed builds from these two names."""
    return partition_named(partition)(scaled(data), Key(seed)("partition"))


def last(method: str, own: dict[str, Any], name: str, seed: int, lr: float) -> dict[str, float]:
    """Accuracy, groups and adjusted Rand index after the last round; of one population 1 for one group, else 0."""
    federation = tables(seed, **TABLES[name]) if name in TABLES else dealt(*FEDERATIONS[name], seed)
    run = shoal.run(method, federation, seed=seed, lr=lr, engine="serial", eval_every=50, **own)
    row = run.history[-1]
    return {"accuracy": row["accuracy"], "groups": row["groups"], "ari": row.get("ari", float(row["groups"] == 1))}


def row_of(
    method: str, own: dict[str, Any], name: str, lr: float, seeds: Sequence[int], rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A method on one federation at one rate: the values of all seeds. FedAvg's are the same for all methods."""
    shared = shared_of(own)
    known = {
        run["seed"]: run["fedavg"]
        for row in rows
        if (row["federation"], row["lr"], shared_of(row["keys"])) == (name, lr, shared)
        for run in row["runs"]
    }
    each = []
    for seed in seeds:
        found = last(method, own, name, seed, lr)
        base = known[seed] if seed in known else last("fedavg", shared, name, seed, lr)["accuracy"]
        each.append({"seed": seed, **found, "fedavg": base})
    return {"method": method, "keys": own, "federation": name, "lr": lr, "runs": each}


def shared_of(own: dict[str, Any]) -> dict[str, Any]:
    """The keys that FedAvg has as well, everybody taking part; how updates are averaged belongs to the method."""
    shared = Settings.model_fields.keys() - {"aggregate"}
    return {"selection": "all"} | {key: value for key, value in own.items() if key in shared}


def told(row: dict[str, Any]) -> dict[str, Any]:
    """What a row says: how often it is right, mean accuracies, and the least gain of a seed on FedAvg in points."""
    ours, theirs = (100 * np.array([run[key] for run in row["runs"]]) for key in ("accuracy", "fedavg"))
    right = sum(run["ari"] >= 0.9 for run in row["runs"])
    counts = {"right": right, "of": len(row["runs"]), "groups": " ".join(str(run["groups"]) for run in row["runs"])}
    return {**counts, "ours": ours.mean(), "fedavg": theirs.mean(), "least": (ours - theirs).min()}


def words_of(row: dict[str, Any]) -> str:
    """The method and its keys, as on the command line."""
    return " ".join([row["method"], *(f"{k}={v}" for k, v in row["keys"].items())])


def below(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines on rows of full length with a seed more than a point below FedAvg, with the reference, if there is one."""
    known = {(row["method"], str(row["keys"]), row["federation"], row["lr"]): row for row in rows}
    lines = []
    for row in rows:
        plain = row["method"] == "fesem" and "weighting" not in row["keys"] and "cluster" not in row["federation"]
        method, keys = PLAIN if plain else ORACLE
        other = known.get((method, str(keys), row["federation"], row["lr"]))
        if row["method"] in (ORACLE[0], PLAIN[0]) or "rounds" in row["keys"] or told(row)["least"] >= -1:
            continue
        cells = [f"`{words_of(row)}`", row["federation"], f"{row['lr']:g}", f"{told(row)['least']:+.1f}"]
        if other is None:
            cells += ["-", "-", "-"]
        else:
            pairs = zip(row["runs"], other["runs"], strict=True)
            behind = max(100 * (its["accuracy"] - run["accuracy"]) for run, its in pairs)
            cells += [f"`{words_of(other)}`", f"{told(other)['least']:+.1f}", f"{max(behind, 0):.1f}"]
        lines.append("| " + " | ".join([*cells, told(row)["groups"]]) + " |")
    return lines


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page: a table for every method."""
    text = [HEAD]
    if found := below(rows):
        text += [BELOW, *found, ""]
    for method, keys in dict.fromkeys(
        (row["method"], " ".join(f"{k}={v}" for k, v in row["keys"].items())) for row in rows
    ):
        text += [f"## `{' '.join(filter(None, (method, keys)))}`", "", *COLUMNS]
        for row in rows:
            if (row["method"], " ".join(f"{k}={v}" for k, v in row["keys"].items())) == (method, keys):
                t = told(row)
                cells = [row["federation"], f"{row['lr']:g}", f"{t['right']} of {t['of']}", f"{t['ours']:.1f}"]
                text.append("| " + " | ".join([*cells, f"{t['fedavg']:.1f}", f"{t['least']:+.1f}", t["groups"]]) + " |")
        text.append("")
    return "\n".join(text)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="?", default="", help="one, or several with commas")
    parser.add_argument("own", nargs="*", help="their keys: groups=auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--lr", default="0.03,0.1")
    parser.add_argument("--only", default="", help="federations with this in their name")
    parser.add_argument("--out", type=Path, default=RESULTS / "defaults.json")
    parser.add_argument("--page", action="store_true")
    asked = parser.parse_intermixed_args(words)
    own: dict[str, Any] = dict(word.split("=", 1) for word in asked.own)
    rows = json.loads(asked.out.read_text()) if asked.out.exists() else []
    done = {(row["method"], str(row["keys"]), row["federation"], row["lr"]) for row in rows}
    for name in (n for n in (*FEDERATIONS, *TABLES) if asked.only in n):
        for lr in map(float, asked.lr.split(",")):
            for method in filter(None, asked.methods.split(",")):
                if (method, str(own), name, lr) in done:
                    continue
                row = row_of(method, own, name, lr, range(asked.first, asked.first + asked.seeds), rows)
                rows.append(row)
                asked.out.write_text(json.dumps(rows, indent=1) + "\n")
                t = told(row)
                line = f"{method:9}{name:29}lr {lr:<4g} right {t['right']:2}/{t['of']}  {t['ours']:.1f}"
                print(
                    f"{line} (fedavg {t['fedavg']:.1f}, least gain {t['least']:+.1f})  groups {t['groups']}", flush=True
                )
    if asked.page:
        (RESULTS / "defaults.md").write_text(page(rows))


if __name__ == "__main__":
    main()
