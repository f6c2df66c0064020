"""Puts a benchmark together: what was asked for, what it ran on, the figures."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import torch

from shoal.bench.agreement import agreement
from shoal.bench.busy import time_busy
from shoal.bench.clustered import time_clustered
from shoal.bench.engines import CASES, time_engines
from shoal.bench.everybody import CASES as ALL
from shoal.bench.everybody import time_everybody
from shoal.bench.grouping import CLIENTS as GROUPED
from shoal.bench.grouping import time_grouping
from shoal.bench.machine import Notify, cores, gemm_peak
from shoal.bench.million import time_million
from shoal.bench.peers import PEERS, time_peers
from shoal.bench.rounds import time_rounds
from shoal.bench.scaling import POINTS, time_scaling
from shoal.bench.server import CLIENTS, time_server
from shoal.bench.whole import time_whole
from shoal.bench.workloads import WORKLOADS
from shoal.errors import unknown
from shoal.kernels import native
from shoal.version import __version__

WHOLE, CLUSTERED, SERVER, ICG, SCALING, AGREEMENT = "whole", "clustered", "server", "icg", "scaling", "agreement"
ENGINES, MILLION, EVERYBODY, BUSY = "engines", "million", "everybody", "busy"
NAMES = (*WORKLOADS, WHOLE, CLUSTERED, SERVER, ICG, SCALING, AGREEMENT)
MORE = (ENGINES, MILLION, EVERYBODY, BUSY)  # for who asks for them by name: they start Ray, or keep all cores busy


def bench(
    names: Sequence[str] = NAMES,
    *,
    repeats: int = 5,
    quick: bool = False,
    compiled: bool = False,
    peers: bool = False,
    notify: Notify = lambda line: None,
) -> dict[str, Any]:
    """Time workloads by name; `quick` only sees that everything works."""
    for name in names:
        if name not in (*NAMES, *MORE):
            raise unknown("workload", name, (*NAMES, *MORE))
    repeats = 1 if quick else repeats
    peak = gemm_peak()
    chosen = [WORKLOADS[name].quick() if quick else WORKLOADS[name] for name in names if name in WORKLOADS]
    document: dict[str, Any] = {"machine": machine(peak), "repeats": repeats, "quick": quick}
    document["workloads"] = [time_rounds(w, repeats, peak, compiled, notify) for w in chosen]
    if WHOLE in names:
        document["whole"] = time_whole(repeats, quick, notify)
    if CLUSTERED in names:
        document["clustered"] = time_clustered(repeats, quick, notify)
    if SERVER in names:
        document["server"] = time_server(CLIENTS[:1] if quick else CLIENTS, repeats, notify)
    if ICG in names:
        document["icg"] = time_grouping(GROUPED[:1] if quick else GROUPED, repeats, notify)
    if SCALING in names:
        document["scaling"] = time_scaling(POINTS[:2] if quick else POINTS, repeats, notify)
    if AGREEMENT in names:
        document["agreement"] = agreement(quick, notify)
    if ENGINES in names:
        document["engines"] = list(time_engines(CASES[:1] if quick else CASES, repeats, notify))
    if MILLION in names:
        document["million"] = list(time_million(*((1000, 20) if quick else (10**6, 200)), repeats, notify))
    if EVERYBODY in names:
        document["everybody"] = list(time_everybody(ALL[:1] if quick else ALL, repeats, notify))
    if BUSY in names:
        document["busy"] = time_busy(repeats, quick, notify)
    if peers:
        document["peers"] = [found for w in chosen if w.name in PEERS for found in time_peers(w, quick, notify)]
    return document


def machine(peak: float) -> dict[str, Any]:
    """What the figures were taken on."""
    return {
        "shoal": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "kernels": built[0] if (built := native()) else "none",
        "cores": cores(),
        "gemm_gflops": peak / 1e9,
    }
