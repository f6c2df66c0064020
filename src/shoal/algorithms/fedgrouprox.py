"""FedGrouProx: FedGroup with FedProx inside the groups. Duan et al. 2021. https://arxiv.org/abs/2010.06870"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from shoal.algorithms.fedgroup import FedGroup
from shoal.algorithms.fedgroup import State as Grouped
from shoal.algorithms.parts.proximal_strength import Search, Strength, search_after
from shoal.algorithms.registry import algorithm
from shoal.seeds import Key
from shoal.types import Engine, Record, option


@dataclass(frozen=True)
class State(Grouped):
    """FedGroup's, and where the search for mu stands."""

    search: Search = Search()


@algorithm("fedgrouprox", finds_groups=True, takes_number=True, finds_number=True, serves_when_selected=True)
@dataclass(frozen=True, kw_only=True)
class FedGrouProx(FedGroup):
    """FedGroup with a proximal term inside groups, of one strength for all of them; pre-training has none.

    >>> import shoal
    >>> run = shoal.run(shoal.FedGrouProx(groups=4), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    mu: Strength = option("auto", "proximal coefficient inside groups; auto: from 0 up whenever the loss rises", low=0)  # type: ignore[assignment]

    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        begun, record = self._with(0.0 if self.mu == "auto" else self.mu).init(engine, key)
        return State(**_values(begun)), record

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        mu = state.search.mu if self.mu == "auto" else self.mu
        after, record = self._with(mu).step(state, engine, key)
        after = State(**_values(after) | {"search": state.search})
        if self.mu != "auto":
            return after, record
        search = search_after(state.search, record.trained, len(engine.clients.with_samples))
        return replace(after, search=search), replace(record, measures={**record.measures, "mu": mu})

    def _with(self, mu: float) -> FedGroup:
        """FedGroup with a proximal term of this strength: all that a round is."""
        return FedGroup(**{**_values(self), "mu": mu})


def _values(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}
