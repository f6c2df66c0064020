"""Makes docs/results/cfl-notebook.json and .md: the experiment of the notebook by CFL's authors.

python -m tools.cfl_notebook runs/cfl-notebook

Runs that are there are read, others made or continued.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from shoal.recipes.cfl import AUTHORS, NOTEBOOK

DOCS = Path(__file__).parent.parent / "docs" / "results"
SEEDS = (0, 1, 2, 3, 4)
COMMON: dict[str, Any] = {**NOTEBOOK, "engine": "serial"}
HEAD = """# The notebook by CFL's authors

Ten clients with 10,000 handwritten characters, labels by Dir(1), the images of five turned by 180 degrees; all take
part, 80 rounds. One model cannot read both: CFL should cut the federation in half, and every client gain about ten
points, say the authors of the notebook. Their thresholds are eps1 = 0.4 and eps2 = 1.6.

```console
$ python -m tools.cfl_notebook runs/cfl-notebook
```

runs, for the seeds 0 to 4, `cfl` with the thresholds and the cut of the notebook, with Shoal's defaults for both, and
never splitting (federated averaging). The first of them alone:

```console
$ shoal run cfl {notebook}
```

Splits and accuracy in percent, mean of five rounds, by seed ([cfl-notebook.json](cfl-notebook.json) has every round):

"""
FOOT = """
* **As in the notebook:** the net (two convolutions and one linear layer, `cfl-notebook`), dark paper as in EMNIST
  (`femnist:inverted=true`), the plain mean, clients that keep their momentum from round to round, eight tenths of a
  client's samples for training, a learning rate that decays before the first round (0.1 x 0.99), complete linkage, no
  split up to round 20. **Not:** the images, LEAF's of the same characters, and the test, a tenth of a client's samples.
* **Later cuts.** eps1 and eps2 go on to be asked inside the halves: where one client's update is long in a round in
  which the half stands still, clients that belong together are cut apart. Shoal's defaults ask whether groups stand
  apart and leave the halves whole; they also need no rounds to wait, and cut much earlier.
"""
COLUMNS = (
    "way",
    "seed",
    "split in round",
    "clients",
    "exact",
    "mean norm",
    "longest",
    "cross",
    "before",
    "last",
    "never split",
    "gain",
    "later cuts",
)
WAYS: dict[str, dict[str, Any]] = {  # of splitting: as the authors do, as Shoal does by default, not at all
    "notebook": AUTHORS,
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
        "accuracy": [round(row["accuracy"], 4) for row in rows],
        "ari": [round(row["ari"], 3) for row in rows],
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


def five(run: Mapping[str, Any], end: int) -> float:
    """Mean accuracy of the five rounds up to one, in percent.

    >>> five({"accuracy": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]}, 6)
    30.0
    """
    return round(100 * fmean(run["accuracy"][max(end - 5, 0) : end]), 9)


def row(way: str, seed: int, run: Mapping[str, Any], never: Mapping[str, Any]) -> str:
    """A line of the table: the first cut, the later ones, and accuracies."""
    first, *later = run["splits"]
    sides = [" + ".join(str(len(side)) for side in split["clients"]) for split in (first, *later)]
    exact = "yes" if run["ari"][first["round"] - 1] == 1 else "no"
    cuts = ", ".join(f"{side} in {cut['round']}" for side, cut in zip(sides[1:], later, strict=True)) or "none"
    last, base = five(run, len(run["accuracy"])), five(never, len(never["accuracy"]))
    cells = [way, seed, first["round"], sides[0], exact, f"{first['mean_norm']:.2f}", f"{first['max_norm']:.2f}"]
    cells += [f"{first['cross']:.2f}", f"{five(run, first['round'] - 1):.1f}", f"{last:.1f}", f"{base:.1f}"]
    return "| " + " | ".join(map(str, [*cells, f"{last - base:+.1f}", cuts])) + " |"


def page(found: Mapping[str, Any]) -> str:
    """The page that shows the results."""
    pairs = {**found["common"], **found["ways"]["notebook"]["keys"], "seed": "0,1,2,3,4"}
    command = " ".join(f"{key}={value}" for key, value in pairs.items())
    lines = textwrap.wrap(command, 100, break_long_words=False, break_on_hyphens=False)
    rows = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    never = found["ways"]["never"]["runs"]
    for way in ("notebook", "default"):
        runs = found["ways"][way]["runs"]
        rows += [row(way, seed, run, other) for seed, run, other in zip(SEEDS, runs, never, strict=True)]
    return HEAD.replace("{notebook}", " \\\n    ".join(lines)) + "\n".join(rows) + "\n" + FOOT


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    results = measure(Path(sys.argv[1]))
    (DOCS / "cfl-notebook.json").write_text(json.dumps(results, indent=1) + "\n")
    (DOCS / "cfl-notebook.md").write_text(page(results))
