"""The federation of the present round: what drift has made of the one the plan began with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.data.drift import DriftState, indices_of
from shoal.data.federation import Living, Source
from shoal.engine import Engine
from shoal.loop.plan import Plan, RoundResult
from shoal.loop.record import clients_to_test
from shoal.seeds import Key
from shoal.table import Serving
from shoal.types import Array, Cohort


class CurrentFederation:
    """The federation of the present round: what drift has made of the one the plan began with."""

    def __init__(self, plan: Plan, key: Key, begin: RoundResult | None) -> None:
        self.plan, self.now = plan, plan.federation
        self._key = key
        self._living = plan.federation if isinstance(plan.federation, Living) else None
        self._state: DriftState | None = None
        self._tested: tuple[Source, Cohort] | None = None  # a federation and who of it is tested
        if plan.drift.scenarios:
            self._state = plan.drift.begin(plan.federation)
            if begin is not None:
                self._state = plan.drift.resume(begin.round, plan.federation, begin.data_indices, key.at(begin.round))
            self.now = self._state.visible

    @property
    def data_indices(self) -> Mapping[str, Array]:
        """What a checkpoint needs to know of the data: nothing, unless they drift."""
        return indices_of(self._state.complete) if self._state is not None else {}

    def tested(self) -> Cohort:
        """The clients that are tested, drawn anew when the federation is another one."""
        if self._tested is None or self._tested[0] is not self.now:
            self._tested = self.now, clients_to_test(self.now, self.plan.eval_clients, self.plan.seed)
        return self._tested[1]

    def advance(self, t: int, engine: Engine, serving: Serving | None) -> tuple[Mapping[str, Any], ...]:
        """The data of round t, put before the engine; what happened to them."""
        events: tuple[Mapping[str, Any], ...] = ()
        if self._state is not None:
            warm = None
            if serving is not None and serving.is_grouped:
                warm = tuple(serving.groups(self.now.ids))
            self._state, events = self.plan.drift(t, self._state, warm, self._key.at(t))
            self.now = self._state.visible
        elif self._living is not None:
            self.now, events = self._living.at_round(t)
        engine.set_federation(self.now)
        return events
