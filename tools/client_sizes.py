"""Makes results/extra/client-sizes.json: how sizes of clients differ from draw to draw of FedProx's scripts.

python -m tools.client_sizes

FedGroup and FlexCFL use federations that FedProx published, each of them one draw without a seed. Here the laws of the
scripts are drawn many times, nothing is trained: how wide sizes spread (departure D73), and how many samples there are
(departure D96).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from shoal.data.partition.letters import letters
from shoal.data.partition.power_law import power_law
from shoal.types import Array

TARGET = Path(__file__).parents[1] / "results" / "extra" / "client-sizes.json"
DRAWS = 400
DIGITS = (6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958)  # images of MNIST by class
LETTER = 4000  # images of a letter, at most
Draw = Callable[[np.random.Generator], list[int]]


def mnist(sigma: float) -> Draw:
    """Sizes of 1,000 clients with two digits each."""
    targets: Array = np.repeat(np.arange(10), DIGITS)
    return lambda rng: [len(part) for part in power_law(targets, 10, 1000, 2, rng, sigma)]


def femnist(rng: np.random.Generator) -> list[int]:
    """Sizes of 200 clients with three letters each."""
    targets: Array = np.repeat(np.arange(10), LETTER)
    return [len(part) for part in letters(targets, 10, 200, 3, True, rng)]


def synthetic(rng: np.random.Generator) -> list[int]:
    """Sizes of 100 clients, as `data=synthetic:order=fedprox` draws them."""
    return [int(size) + 50 for size in rng.lognormal(4, 2, 100)]


FEDERATIONS: dict[str, tuple[Draw, str, float]] = {  # what is looked at, and what is published of it
    "mnist-sigma2": (mnist(2.0), "std", 106),
    "mnist-sigma1.55": (mnist(1.55), "std", 106),
    "femnist": (femnist, "std", 159),
    "synthetic": (synthetic, "samples", 75349),
}
LOOK: dict[str, Callable[[list[int]], float]] = {"std": lambda sizes: float(np.std(sizes)), "samples": sum}


def spread(name: str, draws: int) -> dict[str, Any]:
    """Least, middle and largest value over draws, and the share of them that are at most what is published."""
    draw, what, published = FEDERATIONS[name]
    found = [LOOK[what](draw(np.random.default_rng(seed))) for seed in range(draws)]
    return {
        "what": what,
        "published": published,
        "draws": draws,
        "least": round(min(found), 1),
        "median": round(median(found), 1),
        "largest": round(max(found), 1),
        "at_most_published": round(sum(value <= published for value in found) / draws, 4),
    }


def results(draws: int = DRAWS) -> dict[str, Any]:
    """All federations."""
    return {
        "command": "python -m tools.client_sizes",
        "federations": {name: spread(name, draws) for name in FEDERATIONS},
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(results(), indent=1) + "\n", encoding="utf-8")
