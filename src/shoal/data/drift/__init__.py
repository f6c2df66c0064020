"""Drift: what happens to a federation while a run goes on. Scenarios are pure and only rearrange indices."""

from __future__ import annotations

from shoal.data.drift.drift import Drift, DriftState
from shoal.data.drift.incremental import Incremental
from shoal.data.drift.indices import indices_of, with_indices
from shoal.data.drift.presence import Join, Leave
from shoal.data.drift.scenario import Event, Scenario
from shoal.data.drift.swap import SwapAll, SwapPart
from shoal.data.drift.text import SCENARIOS, parse_drift

__all__ = [
    "SCENARIOS",
    "Drift",
    "DriftState",
    "Event",
    "Incremental",
    "Join",
    "Leave",
    "Scenario",
    "SwapAll",
    "SwapPart",
    "indices_of",
    "parse_drift",
    "with_indices",
]
