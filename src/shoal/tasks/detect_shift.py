"""FlexCFL's client side under drift: have my labels shifted? If so, which group is nearest now? (departure D19)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.measures import ShiftMode, shifted
from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.nearest import directions_of, fresh_histograms, histogram, last_of, nearest
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Solver, Task


@dataclass(frozen=True)
class DetectShift(Task):
    """Compare the histogram with the kept one; if it shifted, renew it and, with a solver, find the nearest group.

    Nothing needs to be sent: w_0 and the directions are on the client. A client that keeps no histogram keeps the
    present one. Leaves the client: yes or no, and the number of a group (-1 without a solver, where nothing moved, or
    where the client does not have the directions: it is to be treated as a newcomer).

    Args:
        mode: How histograms are compared.
        solver: Pre-trains to find the nearest group; None: the client stays where it is.
        groups: How many there are, by which the answer is judged; None: it may be any.

    >>> DetectShift().models
    'none'
    """

    mode: ShiftMode = "aligned"
    solver: Solver | None = None
    groups: int | None = None

    name: ClassVar[str] = "shifted"
    models: ClassVar[Literal["none"]] = "none"

    @property
    def fields(self) -> Mapping[str, Field]:
        choice = Field("int", low=-1, high=last_of(self.groups))
        return {"shifted": Field("int", low=0, high=1), "choice": choice}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        now_C = histogram(net, data)
        if "histogram" not in memory:
            return {"shifted": 0, "choice": -1}, {**memory, "histogram": now_C}
        if not shifted(now_C, memory["histogram"], mode=self.mode).shifted:
            return {"shifted": 0, "choice": -1}, memory
        keep = {**memory, "histogram": now_C}
        group = -1 if self.solver is None or "w0" not in memory else nearest(net, data, keep, self.solver, key)
        return {"shifted": 1, "choice": group}, keep

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        moved_N = self._moved(cohort.histograms_NC("train"), kept := cohort.kept("histogram"))
        if moved_N is None:
            return None
        choice_N = np.full(len(moved_N), -1)
        if self.solver is not None and moved_N.any():
            places = np.flatnonzero(moved_N)
            w0 = cohort.subset(places).kept("w0")
            places = places[[kept is not None for kept in w0]]
            some = cohort.subset(places)
            directions = some.kept("directions")
            if any(kept is None for kept in directions) or not some.trains(self.solver):
                return None
            if len(places):
                updates_NP, _, _ = some.train(self.solver, [kept for kept in w0 if kept is not None], key)
                choice_N[places] = directions_of(some, directions, updates_NP)
        renewed = cohort.subset(np.flatnonzero(moved_N | [histogram is None for histogram in kept]))
        memories = renewed.keeping(histogram=fresh_histograms(renewed))
        return CohortAnswers({"shifted": moved_N.astype(np.int64), "choice": choice_N}, memories)

    def _moved(self, now_NC: Array, kept: list[Any]) -> Array | None:
        """Who has shifted, by the rule of `shifted`: sums of whole counts are exact in any order. None: unclear."""
        known = [i for i, was_C in enumerate(kept) if was_C is not None]
        whole = all(kept[i].shape == now_NC.shape[1:] and kept[i].dtype == np.int64 for i in known)
        if not whole or self.mode not in ("aligned", "counts"):
            return None
        moved_N = np.zeros(len(kept), bool)
        if known:
            was_MC, now_MC = np.stack([kept[i] for i in known]), now_NC[known]
            total_M = was_MC.sum(1)
            if self.mode == "counts":
                was_MC, now_MC = np.sort(was_MC, 1), np.sort(now_MC, 1)
            moved_N[known] = np.abs(now_MC - was_MC).sum(1) > total_M / 5
        return moved_N

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0
