"""What the cost models of FedGSP's paper say of a run, beside what the run counted (eqs. 15 to 17)."""

from __future__ import annotations

from math import fsum

import numpy as np
import torch
from torch import nn

from shoal.costs import d_comm, t_comm, t_comp
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.record import Row
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
    roster, layout, solver = plan.federation.roster, plan.layout, plan.algorithm.solver
    clients = len(roster)
    parallel = plan.algorithm.parallel(rounds, clients) if rounds else None
    if parallel is None or solver is None:
        return {}
    flops = flops_per_sample(layout, plan.federation.sample())
    passes = float(np.mean([solver.passes(int(n)) for n in roster.sizes_N]))
    each = parallel.each_round(clients)
    out: Row = {
        "t_comm": fsum(t_comm(1, seated, kappa, layout.bytes) for _, kappa, seated in each),
        "d_comm": fsum(d_comm(1, seated, kappa, layout.bytes) for _, kappa, seated in each) / 1e6,
    }
    if flops is not None:
        aggr = layout.trainable.stop
        out["t_comp"] = fsum(t_comp([f], seated, kappa, passes, calc=flops, aggr=aggr) for f, kappa, seated in each)
    return out
