"""Fifty clients, full participation, two of them misbehaving in each way: the run is the run without them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import make_toy, small_net
from tests.support import FAULTS, Misbehaving

import shoal
from shoal.backends import Backend, Serial, Workers


@pytest.mark.parametrize("engine", ["serial", "local"])
def test_the_result_is_that_of_the_run_without_them(engine: str, pool: Workers, tmp_path: Path) -> None:
    toy = make_toy(clients=50)
    bad = {toy.ids[2 * i + j]: kind for i, kind in enumerate(FAULTS) for j in range(2)}
    assert len(bad) == 2 * len(FAULTS) < 50
    backend: Backend = Serial() if engine == "serial" else pool

    def run(federation: shoal.Federation, backend: Backend, out: Path) -> shoal.Run:
        return shoal.run("fedavg", federation, small_net, rounds=3, selection="all", engine=backend, out=out)

    spoilt = run(toy, Misbehaving(backend, bad), tmp_path / "spoilt")
    clean = run(toy.keep([c for c in toy.ids if c not in bad]), Serial(), tmp_path / "clean")
    assert spoilt.serving.models_KP.tobytes() == clean.serving.models_KP.tobytes()

    events = [json.loads(line) for line in (tmp_path / "spoilt" / "events.jsonl").read_text().splitlines()]
    assert len(events) == 3 * len(bad)
    for event in events:
        assert (event["kind"], event["task"]) == ("left out", "train")
        assert FAULTS[bad[event["client"]]][1] in event["reason"]
    assert {(e["round"], e["client"]) for e in events} == {(t, c) for t in (1, 2, 3) for c in bad}
    assert spoilt.summary["left_out"] == 3 * len(bad)
    assert (tmp_path / "clean" / "events.jsonl").read_text() == ""


def test_late_clients_are_left_out_too() -> None:
    class Watch:
        """A second passes at every look, an hour while the two slow clients work."""

        now, pace = 0.0, 1.0

        def __call__(self) -> float:
            self.now += self.pace
            return self.now

    watch, slow, toy = Watch(), ("c03", "c07"), make_toy(12)

    class Slow(Serial):
        def run(self, units, models_KP):  # type: ignore[no-untyped-def]
            for number, unit in enumerate(units):
                watch.pace = 3600.0 if unit.who[0] in slow else 1.0
                yield number, next(iter(super().run([unit], models_KP)))[1]

    late = shoal.run("fedavg", toy, small_net, rounds=2, engine=Slow(clock=watch), timeout=60.0)
    clean = shoal.run("fedavg", toy.keep([c for c in toy.ids if c not in slow]), small_net, rounds=2, engine=Serial())
    assert late.serving.models_KP.tobytes() == clean.serving.models_KP.tobytes()
    assert late.summary["left_out"] == 4
