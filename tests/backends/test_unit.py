"""Units of work without a back end: what they say of themselves, what they leave when something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.conftest import make_toy
from torch import nn

from shoal.backends.site import Site
from shoal.backends.unit import Chain, OneClient, cut, explain
from shoal.data.federation import Federation
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Train

TOY = make_toy()
LAYOUT = Layout.of(partial(nn.Linear, 6, 3), TOY.x[:1])
TASK = Train(SGD(lr=0.1, batch=5))
ONE = OneClient(TASK, "c00", 0, Key(1).of("c00"), 1)


def test_a_reason_is_one_line_with_a_place() -> None:
    with pytest.raises(ValueError, match="two") as e:
        raise ValueError("two\n  lines")
    assert explain(e.value).startswith("failed: ValueError: two lines (test_unit.py:")
    assert explain(KeyError()) == "failed: KeyError: no message"
    assert explain(RuntimeError("x" * 400)) == "failed: RuntimeError: " + "x" * 300


def test_pieces_are_consecutive() -> None:
    assert [p.tolist() for p in cut(np.arange(5), 2)] == [[0, 1], [2, 3], [4]]


def test_a_unit_says_how_long_it_may_take() -> None:
    assert (ONE.limit, replace(ONE, timeout=2.0).limit, ONE.who, ONE.tasks) == (None, 2.0, ("c00",), (TASK,))
    chain = Chain(TASK, ("c00", "c01", "c02"), 0, Key(1), {}, {}, 3)
    assert (chain.limit, replace(chain, timeout=2.0).limit, chain.who) == (None, 6.0, chain.clients)


def site(clock: Iterator[float], federation: Federation = TOY) -> Site:
    return Site(Net(LAYOUT, Arithmetic()), federation, lambda: next(clock))


def test_who_takes_exactly_the_time_it_has_is_not_late() -> None:
    unit, models_KP = replace(ONE, timeout=2.0), LAYOUT.init(Key(3))[None]
    assert unit(site(iter((10.0, 12.0))), models_KP, {}).failed == ()
    [failure] = unit(site(iter((10.0, 12.5))), models_KP, {}).failed
    assert (failure.client, failure.reason) == ("c00", "late: 2.5 s, the limit is 2 s")


@dataclass(frozen=True)
class Steps:
    """Every client moves the model by one more than where it finds it, and has a loss; some fail."""

    fails: tuple[str, ...] = ()
    fields = TASK.fields
    name = "steps"

    def __call__(self, net: Any, model_P: Any, data: Any, memory: Any, key: Key) -> Any:
        if key.client in self.fails:
            raise ValueError("ill")
        count = SIZES[key.client or ""]
        return {"update": model_P + 1, "count": count, "loss": float(count)}, {"seen": key.client}


SIZES = {"c00": 12, "c01": 15, "c02": 18}


@pytest.mark.parametrize(
    ("fails", "update", "count", "loss", "keep"),
    [
        # From 1 each update is x + 1: 1 -> 3 -> 7 -> 15. Losses by samples: (144 + 225 + 324) / 45 = 15.4.
        ((), 14.0, 45, 15.4, ["c00", "c01", "c02"]),
        (("c01",), 6.0, 30, 15.6, ["c00", "c02"]),  # 1 -> 3 -> 7; (144 + 324) / 30
        (("c00", "c02"), 2.0, 15, 15.0, ["c01"]),
    ],
)
def test_a_chain_goes_on_where_the_one_before_ended(
    fails: tuple[str, ...], update: float, count: int, loss: float, keep: list[str]
) -> None:
    dims = {"P": LAYOUT.size, "K": 1, "C": 3}
    task: Any = Steps(fails)
    chain = Chain(task, tuple(SIZES), 0, Key(1), dims, SIZES, 45)
    out = chain(site(iter(range(9))), np.ones((1, LAYOUT.size), np.float32), {})
    assert out.answer is not None
    assert out.answer["update"].tolist() == [update] * LAYOUT.size
    assert (out.answer["count"], out.answer["loss"]) == (count, pytest.approx(loss))
    assert (list(out.memories), [f.client for f in out.failed]) == (keep, list(fails))


def test_a_chain_of_which_all_fail_leaves_nothing() -> None:
    task: Any = Steps(tuple(SIZES))
    chain = Chain(task, tuple(SIZES), 0, Key(1), {"P": LAYOUT.size, "K": 1, "C": 3}, SIZES, 45)
    out = chain(site(iter(range(9))), np.ones((1, LAYOUT.size), np.float32), {})
    assert (out.answer, dict(out.memories), len(out.failed)) == (None, {}, 3)
