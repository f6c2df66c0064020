"""Nobody has a group yet: nobody is asked."""

from __future__ import annotations

from tests.algorithms.tiny import clients_of, engine_of

from shoal.algorithms.parts.migration import shifted_clients
from shoal.seeds import Key


def test_nobody_warm_is_nobody_shifted() -> None:
    engine = engine_of(clients_of({"ann": (1.0, 0, 1)}))
    for warm in ((), ("gone",)):
        got = shifted_clients(engine, warm, "aligned", Key(0).at(1))
        assert (got.cohort, got.which_N.shape, got["shifted"].shape, got["choice"].shape) == ((), (0,), (0,), (0,))
    assert engine.drain().counts == {}
