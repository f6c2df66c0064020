"""FedGrouProx: FedGroup with FedProx inside the groups. Duan et al. 2021. https://arxiv.org/abs/2010.06870"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.algorithms.fedgroup import FedGroup
from shoal.algorithms.registry import algorithm
from shoal.types import option


@algorithm("fedgrouprox", finds_groups=True, takes_number=True, finds_number=True, serves_when_selected=True)
@dataclass(frozen=True, kw_only=True)
class FedGrouProx(FedGroup):
    """FedGroup with a proximal term inside groups; pre-training has none. Nothing but the default of mu differs.

    >>> import shoal
    >>> run = shoal.run(shoal.FedGrouProx(groups=4), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    mu: float = option(1.0, "proximal coefficient inside groups", low=0)
