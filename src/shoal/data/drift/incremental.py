"""Training data that arrive bit by bit. FlexCFL's third drift (Duan et al. 2022, section 5.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.data.drift.scenario import Event
from shoal.data.federation import Federation
from shoal.data.samples import Ragged
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Cohort


@dataclass(frozen=True, kw_only=True)
class Incremental:
    """A client trains on a share of its samples: `start` at first, `step` more every so many rounds, in the end all.

    It is the first ceil(share n) samples of a random order that is fixed for the run, n being the client's complete
    size (departure D22). The order belongs to the samples, not to the client: where clients also swap their data, what
    was released moves with them. Test and validation sets are complete from the start. Already the cold start sees the
    reduced sets, unless `cold_start_on_full_data` restores the order of the paper's code (departure D23). Wants the
    complete federation every round.

    Args:
        start: The share that is there at first.
        every: Rounds between two releases.
        step: The share that each release adds.
        cold_start_on_full_data: Whether round 0 has all samples.
        shrinking: Whether each release is a share of what is there, as in the paper's code (departure D22).

    >>> fed = Federation.from_arrays({"a": (np.zeros((10, 1)), [0] * 10)}, test=0)
    >>> [Incremental()(t, fed, None, Key(0))[0].train.sizes.tolist() for t in (0, 49, 50, 100, 150, 999)]
    [[3], [3], [5], [8], [10], [10]]
    >>> [Incremental(shrinking=True).share(t) for t in (0, 50, 100, 150)]
    [0.25, 0.125, 0.09375, 0.09375]
    """

    start: float = 0.25
    every: int = 50
    step: float = 0.25
    cold_start_on_full_data: bool = False
    shrinking: bool = False
    name: ClassVar[str] = "incremental"
    cumulative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, share in (("start", self.start), ("step", self.step)):
            if not 0 < share <= 1:
                raise BadInput(f"{name} of incremental must be above 0 and at most 1, not {share}")
        if self.every < 1:
            raise BadInput(f"every of incremental must be at least 1 round, not {self.every}")

    def share(self, t: int) -> float:
        """What is released in round t.

        Args:
            t: The round.

        Returns:
            A share of every client's training samples.

        >>> [Incremental().share(t) for t in (0, 1, 50, 100, 150, 200)]
        [0.25, 0.25, 0.5, 0.75, 1.0, 1.0]
        """
        if t == 0 and self.cold_start_on_full_data:
            return 1.0
        shares = [min(1.0, round(self.start + self.step * i, 9)) for i in range(t // self.every + 1)]
        return math.prod(shares) if self.shrinking else shares[-1]

    def __call__(
        self, t: int, federation: Federation, warm: Cohort | None, key: Key
    ) -> tuple[Federation, tuple[Event, ...]]:
        share = self.share(t)
        before = 1.0 if t == 0 else self.share(t - 1)
        events: tuple[Event, ...] = ({"kind": "released", "share": share},) if share != before else ()
        return (federation if share == 1 else _released(federation, share, key.at(0))), events


def _released(federation: Federation, share: float, key: Key) -> Federation:
    train = federation.train
    count = np.array([math.ceil(round(share * n, 6)) for n in train.sizes.tolist()])  # 0.3 * 10 is 3, not a bit more
    owner = np.repeat(np.arange(len(train)), train.sizes)
    luck = key.scores(train.index.astype(np.uint64)) >> np.uint64(24)
    order = np.argsort(owner.astype(np.uint64) << np.uint64(40) | luck, kind="stable")  # at random within each client
    first = np.arange(len(order)) - train.offsets[owner] < count[owner]
    index = train.index[np.sort(order[first])]
    return replace(federation, train=Ragged(index, np.concatenate([[0], np.cumsum(count)]).astype(np.int64)))
