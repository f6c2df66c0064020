"""Times the mathematics of the server at several numbers of clients, each beside a usual way to write it."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import cosine_similarity

from shoal.bench.machine import Notify
from shoal.clusterers import kmeans
from shoal.measures import cosine, edc_embedding, madc
from shoal.types import Array

PARAMETERS = 7850  # of MNIST's logistic regression
LONG = 100_000  # of a longer model, at up to LONG_UP_TO clients
GROUPS = 5
CLIENTS = (200, 1000, 10_000)
USUAL_UP_TO = 1000  # clients; whole decompositions and cubic sums are left out beyond
LONG_UP_TO = 1000


@dataclass(frozen=True)
class ServerStep:
    """One function of the server and, where it can be afforded, another way to the same numbers."""

    name: str
    shoal: Callable[[], Any]
    usual: Callable[[], Any] | None = None
    way: str = ""


def server_steps(n: int, p: int) -> Iterator[ServerStep]:
    """What a server computes from n updates of p numbers around five directions."""
    rng = np.random.default_rng(0)
    rows_NP = rng.standard_normal((n, p), np.float32)
    rows_NP += rng.standard_normal((GROUPS, p), np.float32)[np.arange(n) % GROUPS]
    few = n <= USUAL_UP_TO
    if p == PARAMETERS:
        yield ServerStep("cosine", lambda: cosine(rows_NP), lambda: cosine_similarity(rows_NP), "scikit-learn")
    svd = (lambda: by_svd(rows_NP)) if few and p == PARAMETERS else None
    yield ServerStep("edc", lambda: edc_embedding(rows_NP, GROUPS), svd, "whole SVD")
    if p != PARAMETERS:
        return
    if few:
        similarity_NN = cosine(rows_NP)
        yield ServerStep(
            "madc", lambda: madc(similarity_NN), lambda: cdist(similarity_NN, similarity_NN, "cityblock"), "scipy cdist"
        )
    points_NM, weights_N = edc_embedding(rows_NP, GROUPS), rng.integers(1, 100, n).astype(np.float64)
    yield ServerStep(
        "weighted k-means",
        lambda: kmeans(points_NM, GROUPS, weights_N, np.random.default_rng(0)),
        lambda: KMeans(GROUPS, n_init=10, random_state=0).fit(points_NM, sample_weight=weights_N),
        "scikit-learn",
    )


def by_svd(rows_NP: Array) -> Array:
    """EDC as it is often written: a whole singular value decomposition, then cosines."""
    _, _, v = np.linalg.svd(rows_NP, full_matrices=False)
    return np.asarray(cosine_similarity(rows_NP, v[:GROUPS]))


def time_server(clients: tuple[int, ...], repeats: int, notify: Notify) -> list[dict[str, Any]]:
    """Milliseconds of every step, by clock and by processor, and the memory it took beside the input."""
    found = []
    for n in clients:
        for p in (PARAMETERS, LONG) if n == LONG_UP_TO else (PARAMETERS,):
            for step in server_steps(n, p):
                notify(f"server: {step.name}, {n:,} clients x {p:,}")
                found.append(one(step, n, p, repeats if n < max(CLIENTS) else 1))
    return found


def one(step: ServerStep, n: int, p: int, repeats: int) -> dict[str, Any]:
    runs = [clocked(step.shoal) for _ in range(repeats)]
    usual = [clocked(step.usual) for _ in range(repeats)] if step.usual is not None else []
    return {
        "name": step.name,
        "clients": n,
        "parameters": p,
        "ms": 1e3 * median(wall for wall, _ in runs),
        "cpu_ms": 1e3 * min(cpu for _, cpu in runs),
        "way": step.way if usual else None,
        "way_cpu_ms": 1e3 * min(cpu for _, cpu in usual) if usual else None,
        "memory": memory_of(step.shoal),
    }


def clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def memory_of(work: Callable[[], object]) -> int:
    """Bytes that arrays made on the way, and the result, take at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
