"""How far the ways to train lie apart: updates in single precision against the same training in double precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shoal.bench.machine import Notify
from shoal.bench.workloads import WORKLOADS, Workload
from shoal.kernels import native
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD, Proximal

NAMES = ("W1", "W2", "W6")  # perceptrons, and recurrent layers


def ways_to_descend(solver: SGD) -> dict[str, SGD]:
    """The workload's own solver and what the papers add to it.

    >>> sorted(ways_to_descend(SGD()))
    ['fedavg', 'fedprox', 'momentum', 'weight decay']
    """
    return {
        "fedavg": solver,
        "fedprox": solver.plus(Proximal(1.0)),
        "momentum": replace(solver, momentum=0.9, lr=solver.lr / 10),
        "weight decay": replace(solver, weight_decay=0.001),
    }


def compare(workload: Workload, notify: Notify) -> list[dict[str, Any]]:
    """Relative error of the update of every client of a round, per solver and kernel: the median and the worst."""
    federation, _ = workload.federation()
    layout = workload.layout(federation)
    exact = Net(Layout.of(layout.factory, federation.sample().astype(np.float64), "float64"))
    nets = {"torch": Net(layout)}
    if native() is not None:
        nets["native"] = Net(layout, Arithmetic(kernel="native"))
    start_P, key = layout.init(Key(0)), Key(0).at(1)
    found = []
    for name, solver in ways_to_descend(workload.solver).items():
        notify(f"{workload.name}: {name}, against double precision")
        errors: dict[str, list[float]] = {kernel: [] for kernel in nets}
        for client in workload.select(federation.roster, Key(0).at(0)):
            x, y = federation.client(client)("train")
            right_P = solver(exact, start_P.astype(np.float64), x, y, key.of(client)).update_P
            for kernel, net in nets.items():
                update_P = solver(net, start_P, x, y, key.of(client)).update_P
                errors[kernel].append(float(np.linalg.norm(update_P - right_P) / np.linalg.norm(right_P)))
        for kernel, several in errors.items():
            figures = {"median": float(np.median(several)), "worst": max(several)}
            found.append({"workload": workload.name, "solver": name, "kernel": kernel, **figures})
    return found


def agreement(quick: bool, notify: Notify) -> list[dict[str, Any]]:
    """The comparison for every workload that has two ways to train."""
    chosen = [WORKLOADS[name].quick() if quick else WORKLOADS[name] for name in NAMES]
    return [entry for workload in chosen for entry in compare(workload, notify)]
