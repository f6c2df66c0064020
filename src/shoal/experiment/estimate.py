"""What the cost models of FedGSP's paper say of a run, beside what the run counted (spec 6.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from shoal.costs import Parallel, d_comm, t_comm, t_comp
from shoal.experiment.loop import Plan
from shoal.experiment.row import Row
from shoal.layout import Layout
from shoal.net import Net
from shoal.types import Array


def flops_per_sample(layout: Layout, sample: Array) -> float | None:
    """Operations of the products and convolutions of one training step, forward and backward, for one sample.

    None for recurrent networks, whose operations torch does not count.

    >>> layout = Layout.of(lambda: nn.Linear(3, 2), np.zeros((1, 3)))
    >>> flops_per_sample(layout, np.zeros((1, 3)))           # 2 * 3 * 2 forward, as many for the kernel's gradient
    24.0
    """
    from torch.utils.flop_counter import FlopCounterMode

    net = Net(layout)
    if any(isinstance(m, nn.RNNBase) for m in net.module.modules()):
        return None
    net.module.eval()
    with FlopCounterMode(display=False) as counter:
        net.loss(net.module(net.tensor(sample)), torch.zeros(1, dtype=torch.int64)).backward()  # type: ignore[no-untyped-call]
    return float(counter.get_total_flops())


def estimate(plan: Plan, rounds: int) -> Row:
    """Seconds of computing and of sending and MB sent, for methods that say how parallel they are; else nothing."""
    algorithm: Any = plan.algorithm
    if not hasattr(algorithm, "parallel") or not rounds:
        return {}
    roster, layout = plan.federation.roster, plan.layout
    clients = len(roster)
    how: Parallel = algorithm.parallel(rounds, clients)
    flops = flops_per_sample(layout, plan.federation.sample())
    passes = float(np.mean([algorithm.solver.passes(int(n)) for n in roster.sizes_N]))
    out: Row = {
        "t_comm": t_comm(rounds, clients, how.kappa, layout.bytes),
        "d_comm": d_comm(rounds, clients, how.kappa, layout.bytes) / 1e6,
    }
    if flops is not None:
        out["t_comp"] = t_comp(how.groups_R, clients, how.kappa, passes, calc=flops, aggr=layout.trainable.stop)
    return out
