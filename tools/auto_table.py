"""Makes docs/results/auto.json and auto.md: `auto` beside all other methods on federations of different nature.

python -m tools.auto_table runs/auto
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

METHODS = (
    "fedavg",
    "fedprox",
    "fedadam",
    "fedgsp",
    "local",
    "ifca",
    "fesem",
    "wecfl",
    "fedgroup",
    "flexcfl",
    "cfl",
    "flhc",
)
FEDERATIONS: dict[str, dict[str, Any]] = {  # groups: for methods that need a number, where groups are planted
    "iid": {"partition": "iid:clients=20"},
    "permuted": {"partition": "permuted:4", "groups": 4},
    "rotated": {"partition": "rotated:4", "groups": 4},
    "cluster-dirichlet": {"partition": "cluster-dirichlet:groups=4:clients=20", "groups": 4},
    "dirichlet 0.1": {"partition": "dirichlet:0.1:clients=20"},
    "drift": {"partition": "permuted:4", "drift": "swap-all:0.05", "groups": 4},
}
COMMON: dict[str, Any] = {"lr": 0.1, "seed": [0, 1, 2], "engine": "serial"}
WITHIN = 0.02
DOCS = Path(__file__).parent.parent / "docs" / "results"
HEAD = """# `auto` beside all other methods

```
python -m tools.auto_table runs/auto
```

`digits`, 20 clients, softmax regression, 50 rounds, `lr=0.1`, everything else as it is by default; methods that need a
number of groups are told the planted one, where groups are planted. `auto` is told nothing and decides by training
samples alone. Last accuracy in percent, mean over the seeds 0, 1 and 2 ([auto.json](auto.json) has every value):

"""
DRIFT = """**Drift.** Ten seeds of the two methods it chose between
([auto-drift.json](auto-drift.json), mean of the last three tests in percent):

```
shoal run flexcfl ifca data=digits partition=permuted:4 drift=swap-all:0.05 groups=4 lr=0.1 engine=serial \\
    seed=0,1,2,3,4,5,6,7,8,9 out=runs/auto-drift
shoal compare runs/auto-drift --format json > docs/results/auto-drift.json
```

| method | mean | by seed | adjusted Rand index |
| --- | --- | --- | --- |
"""
DRIFT_SAYS = """
Where `ifca` does not come from its random start to the planted groups it ends far lower; the seeds 0 to 2 are not
among these. Over ten seeds the choice is right, on those three the other would have been better."""


def measure(folder: Path) -> dict[str, Any]:
    """Run what is not there yet, and read what came out."""
    from shoal.experiment.sweep import continue_sweep, sweep
    from shoal.store.folder import Folder

    found: dict[str, Any] = {}
    for name, pairs in FEDERATIONS.items():
        place = folder / name.replace(" ", "-")
        there = (place / "sweep.json").exists()
        paths = continue_sweep(place) if there else sweep(["auto", *METHODS], out=place, **COMMON, **pairs)
        accuracy: dict[str, list[float]] = {}
        for path in paths:
            summary = Folder(path).summary()
            assert summary is not None
            accuracy.setdefault(path.name.partition("-seed")[0], []).append(summary["last_accuracy"])
        notes = [Folder(path).notes() for path in paths[: len(COMMON["seed"])]]
        chosen = [" ".join([n[-1]["algorithm"], *groups(n[-1]["own"])]) for n in notes]
        said = [[one["says"] for one in n] for n in notes]
        found[name] = {"keys": pairs, "accuracy": accuracy, "chosen": chosen, "sentences": said}
    return found


def groups(own: Mapping[str, Any]) -> list[str]:
    return [f"groups={own['groups']}"] if "groups" in own else []


def behind(result: Mapping[str, Any]) -> tuple[str, float]:
    """The best of the other methods, and how far `auto` is behind it.

    >>> behind({"accuracy": {"auto": [0.9, 0.8], "fedavg": [0.9, 0.9], "local": [0.5, 0.7]}})
    ('fedavg', 0.05)
    """
    means = {name: fmean(values) for name, values in result["accuracy"].items()}
    best = max((name for name in means if name != "auto"), key=lambda name: means[name])
    return best, round(means[best] - means["auto"], 12)


def of_drift(comparison: Mapping[str, Any]) -> str:
    """The two methods for drift on more seeds, from the answer of `shoal compare`."""
    rows = []
    for line in comparison["comparison"]:
        found = line["figures"]["last_three_accuracy"]
        each = " ".join(f"{100 * value:.1f}" for value in found["values"])
        index = " ".join(f"{value:.1f}" for value in line["figures"]["ari"]["values"])
        rows.append(f"| `{line['name']}` | {100 * found['mean']:.1f} | {each} | {index} |\n")
    return DRIFT + "".join(rows) + DRIFT_SAYS


def page(results: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    """The page that shows the results."""
    rows = ["| federation | `auto` ran | auto | best other | behind |", "| --- | --- | --- | --- | --- |"]
    for name, result in results.items():
        best, gap = behind(result)
        shown = ", ".join(f"`{one}`" for one in dict.fromkeys(result["chosen"]))
        mean = {key: 100 * fmean(values) for key, values in result["accuracy"].items()}
        rows.append(f"| {name} | {shown} | {mean['auto']:.1f} | {mean[best]:.1f} (`{best}`) | {100 * gap:.1f} |")
    near = sum(behind(result)[1] <= WITHIN for result in results.values())
    every = [f"| method | {' | '.join(results)} |", "| --- |" + " --- |" * len(results)]
    for method in ("auto", *METHODS):
        cells = [f"{100 * fmean(result['accuracy'][method]):.1f}" for result in results.values()]
        every.append(f"| `{method}` | {' | '.join(cells)} |")
    said = [f"**{name}** (seed 0)\n\n" + "\n".join(f"> {s}" for s in r["sentences"][0]) for name, r in results.items()]
    verdict = f"Within {100 * WITHIN:g} points of the best of all methods on {near} of {len(results)} federations."
    parts = [
        "\n".join(rows),
        verdict,
        of_drift(comparison),
        "## All methods",
        "\n".join(every),
        "## What it says",
        *said,
    ]
    return HEAD + "\n\n".join(parts) + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = measure(Path(sys.argv[1]))
    (DOCS / "auto.json").write_text(json.dumps(found, indent=1) + "\n")
    text = page(found, json.loads((DOCS / "auto-drift.json").read_text()))
    (DOCS / "auto.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
