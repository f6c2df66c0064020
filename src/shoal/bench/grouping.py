"""Times FedGSP's grouping phase by phase: ten rounds of assignment and means, as its paper times them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from shoal.bench.machine import Notify
from shoal.clusterers import assign_equal, icg_sizes
from shoal.clusterers.equal_size import ITERATIONS, half_squares, means
from shoal.clusterers.kmeans import seed_centres
from shoal.types import Array

CLASSES = 62  # of FEMNIST
CLIENTS = (364, 1000, 10_000)  # the first is the paper's
SIZE = 7  # clients of a group


def histograms(n: int) -> Array:
    """Label counts of clients that differ as writers do."""
    rng = np.random.default_rng(0)
    return rng.multinomial(200, rng.dirichlet(np.full(CLASSES, 0.5)), n).astype(np.float64)


def phases(counts_NC: Array, groups: int) -> dict[str, float]:
    """Seconds of each phase, all iterations together; it does not stop when nothing changes."""
    rng, spent = np.random.default_rng(0), defaultdict[str, float](float)

    def clocked(name: str, work: Callable[..., Any], *args: Any) -> Any:
        began = time.perf_counter()
        out = work(*args)
        spent[name] += time.perf_counter() - began
        return out

    clusters, kept = icg_sizes(len(counts_NC), groups)[1:3]
    rows_ND = counts_NC[:kept]
    centres_LD = clocked("seeding", seed_centres, rows_ND, clusters, np.ones(kept), rng)
    for _ in range(ITERATIONS):
        cost_NL = clocked("distances", half_squares, rows_ND, centres_LD)
        labels_N = clocked("flow", assign_equal, cost_NL)
        centres_LD = clocked("means", means, rows_ND, labels_N, clusters)
    clocked("groups", lambda: [rng.permutation(np.flatnonzero(labels_N == k)) for k in range(clusters)])
    return dict(spent)


def time_grouping(clients: tuple[int, ...], repeats: int, notify: Notify) -> list[dict[str, Any]]:
    """Milliseconds of every phase, medians over repeats."""
    found = []
    assign_equal(np.eye(2))  # loads the solver
    for n in clients:
        notify(f"icg: {n:,} clients")
        groups = n // SIZE
        runs = [phases(histograms(n), groups) for _ in range(repeats)]
        took = {name: 1e3 * median(run[name] for run in runs) for name in runs[0]}
        found.append({"clients": n, "groups": groups, "ms": took, "total_ms": sum(took.values())})
    return found
