"""NaiveGSP and NaiveGSP+ICG: groups that stay, the rivals of FedGSP in its paper. Zeng et al. 2022, section 4.1.
https://arxiv.org/abs/2201.12976"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.algorithms.fedgsp import FedGSP
from shoal.algorithms.parts.growth import Beginning
from shoal.algorithms.registry import algorithm
from shoal.types import option


@algorithm("naivegsp", single_model=True)
@dataclass(frozen=True, kw_only=True)
class NaiveGSP(FedGSP):
    """Random groups, drawn once, their number and order fixed; in sequence inside, in parallel between them.

    >>> import shoal
    >>> run = shoal.run(shoal.NaiveGSP(beta=5, kappa=1.0), "digits", rounds=1, engine="serial")
    >>> run.history[1]["trained"]
    5
    """

    beta: Beginning = option("auto", "number of groups; auto: 52 for 368 clients, in proportion", low=1, key="groups")
    grouping: Literal["icg", "random"] = option("random", "how groups are made: icg, or random")
    regroup: Literal["round", "once"] = option("once", "when: anew in every round, or once and for all")

    of_368: ClassVar[int] = 52


@algorithm("naivegsp+icg", single_model=True)
@dataclass(frozen=True, kw_only=True)
class NaiveGSPICG(NaiveGSP):
    """The same with groups from one run of ICG.

    >>> import shoal
    >>> run = shoal.run(shoal.NaiveGSPICG(beta=5, kappa=1.0), "digits", rounds=1, engine="serial")
    >>> run.history[1]["trained"]
    5
    """

    grouping: Literal["icg", "random"] = option("icg", "how groups are made: icg, or random")
