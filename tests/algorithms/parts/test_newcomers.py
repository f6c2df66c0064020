"""Who joins a group keeps its labels from then on."""

from __future__ import annotations

from typing import Any

import pytest

import shoal


@pytest.mark.parametrize("newcomers", ["nearest", "random"])
@pytest.mark.parametrize(("cold_start", "want"), [("eager", [20, 20]), ("lazy", [2, 20])])
def test_clients_take_their_reference_when_they_join(newcomers: str, cold_start: str, want: list[int]) -> None:
    """All data are swapped before every round. Two clients have a group at the start, the others join before round 1
    (eager) or in it (lazy), after its swap. Whoever has joined has other labels in the next round, and says so; also
    where the group was drawn (RAC) and nothing was asked of the client for it."""
    own: dict[str, Any] = {"groups": 2, "alpha": 1, "pretrain_steps": 3, "cold_start": cold_start}
    run = shoal.run(
        "flexcfl", "digits", partition="dirichlet:0.1:clients=20", newcomers=newcomers, rounds=2, selection="all",
        drift="swap-all:1.0", engine="serial", **own,
    )  # fmt: skip
    assert [row["measures"]["shifted"] for row in run.history[1:]] == want


def test_nobody_is_asked_where_nobody_migrates() -> None:
    run = shoal.run("fedgroup", "digits", newcomers="random", cold_start="eager", rounds=1, engine="serial")
    assert all("shifted" not in row["traffic"] for row in run.history)
