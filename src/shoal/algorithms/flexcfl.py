"""FlexCFL: FedGroup whose clients migrate when their data drift. Duan et al., TPDS 2022, Algorithm 2.
https://arxiv.org/abs/2108.09749"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.algorithms.fedgroup import FedGroup
from shoal.algorithms.parts.migration import Migration
from shoal.algorithms.registry import algorithm
from shoal.types import option


@algorithm("flexcfl", finds_groups=True, takes_number=True, finds_number=True, serves_when_selected=True)
@dataclass(frozen=True, kw_only=True)
class FlexCFL(FedGroup):
    """FedGroup with migration: a client whose labels shifted looks for its nearest group again, at home.

    Nothing but the default of `migration` differs; `migration=off` is FedGroup.

    >>> import shoal
    >>> run = shoal.run(shoal.FlexCFL(groups=4, measure="madc"), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    migration: Migration = option(
        "aligned", "who drifted joins the nearest group again: off, aligned or counts", without_labels="off"
    )
