"""What the cost models of FedGSP's paper say of a run, beside what the run counted (eqs. 15 to 17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from shoal.costs import d_comm, t_comm, t_comp
from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.loop.row import Row


@dataclass(frozen=True)
class CostModel:
    """What the cost models need to know of a run.

    Args:
        each_R: Groups, the share of them that trains, and the clients in groups, of every round.
        passes: Samples that a client passes through its model in a round, mean over clients.
        flops: Operations of a sample; None where they are not known.
        layout: Of the model: its bytes, and the numbers that are added up.
    """

    each_R: Sequence[tuple[int, float, int]]
    passes: float
    flops: float | None
    layout: Layout

    def of(self, first: int, last: int) -> Row:
        """Seconds of sending and of computing and MB sent in the rounds from `first` to `last`."""
        each = self.each_R[first - 1 : last]
        size, adds = self.layout.bytes, self.layout.trainable.stop
        out: Row = {
            "t_comm": fsum(t_comm(1, seated, kappa, size) for _, kappa, seated in each),
            "d_comm": fsum(d_comm(1, seated, kappa, size) for _, kappa, seated in each) / 1e6,
        }
        if self.flops is not None:
            calc = self.flops
            out["t_comp"] = fsum(
                t_comp([f], seated, kappa, self.passes, calc=calc, aggr=adds) for f, kappa, seated in each
            )
        return out


def cost_model(plan: Plan, rounds: int) -> CostModel | None:
    """The cost models of a run of so many rounds; None for methods that do not say how parallel they are."""
    roster, solver = plan.federation.roster, plan.algorithm.solver
    parallel = plan.algorithm.parallel(rounds, len(roster)) if rounds else None
    if parallel is None or solver is None:
        return None
    sizes, which_N = np.unique(roster.sizes_N, return_inverse=True)
    passes = float(np.mean(np.array([solver.passes(int(n)) for n in sizes])[which_N]))
    return CostModel(parallel.each_round(len(roster)), passes, plan.flops, plan.layout)


def estimate(plan: Plan, rounds: int) -> Row:
    """Seconds of computing and of sending and MB sent, for methods that say how parallel they are; else nothing."""
    model = cost_model(plan, rounds)
    return {} if model is None else model.of(1, rounds)
