"""FlexCFL's client side under drift: have my labels shifted? If so, which group is nearest now? (departure D19)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.measures import ShiftMode, shifted
from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.nearest import histogram, nearest
from shoal.types import Answer, Array, ClientData, Field, Memory, Solver, Task


@dataclass(frozen=True)
class DetectShift(Task):
    """Compare the histogram with the kept one; if it shifted, renew it and, with a solver, find the nearest group.

    Nothing needs to be sent: w_0 and the directions are on the client. A client that keeps no histogram keeps the
    present one. Leaves the client: yes or no, and the number of a group (-1 without a solver, where nothing moved, or
    where the client does not have the directions: it is to be treated as a newcomer).

    Args:
        mode: How histograms are compared.
        solver: Pre-trains to find the nearest group; None: the client stays where it is.

    >>> DetectShift().models
    'none'
    """

    mode: ShiftMode = "aligned"
    solver: Solver | None = None

    name: ClassVar[str] = "shifted"
    models: ClassVar[Literal["none"]] = "none"
    fields: ClassVar[Mapping[str, Field]] = {"shifted": Field("int", low=0, high=1), "choice": Field("int", low=-1)}

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

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0
