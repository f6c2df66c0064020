"""Modules that do unusual things: what travels, what is refused, and that engines still agree."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.backends import Serial, Workers
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.layout import Layout
from tests.conftest import make_toy, small_net

SAMPLE = np.zeros((1, 6), np.float32)


class Rebinding(nn.Module):
    """Puts new tensors in place of its buffers, as plain assignments do."""

    mean: torch.Tensor
    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
            self.calls = self.calls + 1
        out: torch.Tensor = self.layer(x - self.mean)
        return out


class Sequence(nn.Module):
    """A recurrent net on six steps of one number."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(1, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.lstm(x[..., None])[0][:, -1])
        return out


@pytest.mark.parametrize("module", [Rebinding, Sequence])
def test_engines_agree(module: type[nn.Module], toy: Federation, pool: Workers) -> None:
    a, b = (shoal.run("fedavg", toy, module, rounds=3, engine=e).serving.models_KP for e in (Serial(), pool))
    assert a.tobytes() == b.tobytes()


def test_rebound_buffers_travel(toy: Federation) -> None:
    run = shoal.run("fedavg", toy, Rebinding, rounds=3, engine=Serial())
    named = run.plan.layout.named(run.serving.models_KP[0])
    assert float(named["mean"].abs().sum()) > 0
    longest = max(-(-int(n) // 10) for n in toy.roster.sizes_N)
    assert int(named["calls"]) == 3 * longest  # the maximum over clients, every round


def test_a_module_that_throws_its_gradients_away_is_found_out(toy: Federation) -> None:
    class Careless(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.weight.grad = None
            return super().forward(x)

    with pytest.raises(shoal.ShoalError, match="replaced the gradient"):
        shoal.run("fedavg", toy, lambda: Careless(6, 3), rounds=1, engine=Serial())


same = nn.Linear(6, 3)


class Lucky(nn.Linear):
    def __init__(self) -> None:
        super().__init__(6, 3)
        self.frozen = nn.Parameter(torch.from_numpy(np.random.normal(size=2)), requires_grad=False)


class Buffered(nn.Linear):
    def __init__(self, value: Any) -> None:
        super().__init__(6, 3)
        self.register_buffer("odd", torch.tensor(value))


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (lambda: same, "returns the same module every time"),
        (Lucky, "gives another model each time"),
        (lambda: nn.Sequential(nn.LazyLinear(3)), "lazy layers"),
        (nn.Linear, "cannot be called without arguments"),
        (lambda: Buffered(1 + 2j), "complex numbers"),
        (lambda: Buffered(123456789), "too large for float32"),
        (lambda: nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3, track_running_stats=False)), "running statistics"),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(model: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Layout.of(model, SAMPLE)


def test_two_runs_at_a_time_do_not_disturb_each_other() -> None:
    toy = make_toy(4)
    alone = shoal.run("fedavg", toy, small_net, rounds=4, engine=Serial()).serving.models_KP
    found: list[Any] = []

    def work() -> None:
        found.append(shoal.run("fedavg", toy, small_net, rounds=4, engine=Serial()).serving.models_KP)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(models.tobytes() == alone.tobytes() for models in found)
    assert len(found) == 3
