"""The wire format: every task that a method sends goes through it and comes out the same; unknown names are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net
from tests.contract.test_algorithms import ALIASES, plan_of

from shoal.algorithms import ALGORITHMS
from shoal.backends import Outcome, Serial, Unit
from shoal.backends.unit import Chain, OneClient
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.flower.policy import default_policy
from shoal.flower.records import Answered, Hello, OwnModel, pack, portable, sendable, unpack
from shoal.layout import Layout
from shoal.loop.rounds import run_rounds
from shoal.models import factory
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import MMD, SGD, Proximal
from shoal.solvers.fusion import Fused
from shoal.store.codec import Copied, from_bytes, to_bytes
from shoal.tasks import Gradient, Train
from shoal.types import Array, Task


class Listening(Serial):
    """Hears every unit that clients are asked for, one by one."""

    holds_data = False

    def __init__(self) -> None:
        super().__init__()
        self.units: list[OneClient] = []
        self.outcomes: list[Outcome] = []

    def whole_cohort(self, *asked: Any) -> None:
        """One by one."""

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        for unit in units:
            assert isinstance(unit, OneClient | Chain)
            key = unit.key.of(unit.who[0]) if unit.who else unit.key
            self.units.append(OneClient(unit.task, unit.who[0] if unit.who else "", unit.which, key, unit.cost))
        for number, outcome in super().run(units, models_KP):
            self.outcomes.append(outcome)
            yield number, outcome


def over_the_wire(value: Any) -> Any:
    """Through text and bytes, as messages and sockets take it."""
    copy = pack(value)
    copy = from_bytes(to_bytes(Copied(json.loads(json.dumps(copy.tree)), copy.arrays)))
    return unpack(copy)


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - set(ALIASES)))
def test_every_task_of_every_method_round_trips(name: str, toy: Federation) -> None:
    plan, backend = plan_of(name, toy, rounds=2), Listening()
    for _ in run_rounds(plan, Engine(backend, plan.layout)):
        pass
    assert len({type(unit.task) for unit in backend.units}) >= 2  # at least one of its own, and tests
    for unit in backend.units:
        assert over_the_wire(unit) == unit
        assert type(unit.task).__name__ in default_policy().tasks
    outcomes = tuple(replace(outcome, memories={}) for outcome in backend.outcomes)
    for sent, came in zip(outcomes, over_the_wire(Answered(outcomes, {})).outcomes, strict=True):
        assert set(sent.answer or {}) == set(came.answer or {})
        for field, value in (sent.answer or {}).items():
            assert np.asarray(value).tobytes() == np.asarray(came.answer[field]).tobytes()
            assert type(value) is type(came.answer[field])


@pytest.mark.parametrize(
    "value",
    [
        Train(SGD(terms=(Proximal(0.5), MMD(0.1, "features")), steps=3)),
        Gradient(batch=5),
        Key(3, "train", 4, "ann"),
        portable(factory("mlp", (4,), 3, 7)),
        replace(Fused.of(factory("mlp", (4,), 3), np.zeros((1, 4)), "multi", 0.25), model=OwnModel()),  # type: ignore[arg-type]
    ],
    ids=lambda value: type(value).__name__,
)
def test_parts_round_trip(value: Any) -> None:
    assert over_the_wire(value) == value


def test_a_named_model_makes_the_same_layout_elsewhere() -> None:
    model = Fused.of(factory("mlp", (4,), 3), np.zeros((1, 4)), "conv")
    here, there = (Layout.of(m, np.zeros((1, 4))) for m in (model, over_the_wire(portable(model))))
    assert here.digest() == there.digest()
    assert portable(small_net) == OwnModel()


@dataclass(frozen=True)
class Mine(Train):
    """A task of a user's own, in a file."""

    twice: bool = False


def test_a_task_of_a_file_is_known_once_it_is_imported() -> None:
    assert over_the_wire(Mine(SGD(), twice=True)) == Mine(SGD(), twice=True)
    assert sendable()["Train"] is Train


def test_what_others_could_not_know_is_refused_before_it_is_sent() -> None:
    @dataclass(frozen=True)
    class Local(Task):
        name = "local"
        models = "none"
        fields = {}  # noqa: RUF012

        def __call__(self, net: Net, models: Any, data: Any, memory: Any, key: Key) -> Any:
            return {}, memory

        def work(self, samples: int, models: int) -> tuple[int, int]:
            return 0, 0

    with pytest.raises(BadInput, match=r"Local cannot be sent to sites: derive it from Task"):
        pack(Local())
    with pytest.raises(BadInput, match="not set"):
        pack(Answered((), {"ann": {1}}))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ({"record": "Popen", "fields": {"args": "true"}}, "it holds a 'Popen', which is not known here"),
        ({"record": "SGD", "fields": {"lr": -1.0}}, "lr must be at least 0"),
        ({"record": "SGD", "fields": {"rate": 1.0}}, "TypeError"),
        ({"record": "Key"}, "KeyError"),
        ({"array": "a7"}, "KeyError"),
    ],
)
def test_a_message_that_makes_no_sense_is_refused_in_a_sentence(tree: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        unpack(Copied(tree, {}))


def test_no_default_policy_lets_a_guarded_field_leave() -> None:
    from shoal import tasks
    from shoal.flower.policy import modest

    assert {type(task).__name__ for task in modest()} == set(tasks.__all__) - {"Gradient"}
    assert not [f for task in modest() for f in task.fields.values() if f.guarded]
    assert unpack(pack(Hello())) == Hello()
