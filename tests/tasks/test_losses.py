"""The losses of all models on a client's samples: what they cost, and on whose account."""

from __future__ import annotations

from shoal.engine.ledger import Count, Ledger
from shoal.tasks import Losses


def test_losses_are_the_methods_own_unless_they_only_look() -> None:
    ledger = Ledger()
    ledger.add(Losses(), Count(up=1))
    ledger.add(Losses(diagnostic=True), Count(up=2))
    assert (ledger.counts, ledger.diagnostics) == ({"losses": Count(up=1)}, {"losses": Count(up=2)})
