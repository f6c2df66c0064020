"""The loop that people write by hand: a copy of the model per client, a DataLoader, torch's optimiser."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from shoal.bench.workloads import Workload
from shoal.data.federation import Federation
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.types import Array


class PlainLoop:
    """FedAvg, or chains, as a script would have it; one round per call, tested on every client.

    The clients of a round are those that Shoal selects. Data lie in memory as tensors, ready to use.
    """

    def __init__(self, workload: Workload, federation: Federation, layout: Layout) -> None:
        self.workload, self.roster = workload, federation.roster
        self.model = layout.module(layout.init(Key(0).at(0)("init")))
        self.sets = {
            client: tuple(as_set(*federation.client(client)(split)) for split in ("train", "test"))
            for client in federation.ids
        }
        self.round = 0

    def __call__(self) -> float:
        """One round; the accuracy."""
        self.round += 1
        cohort = self.workload.select(self.roster, Key(0).at(self.round))
        trained: list[tuple[nn.Module, int]] = []
        for group in self.workload.groups(cohort):
            model, count = copy.deepcopy(self.model), 0
            for client in group:
                self._train(model, client)
                count += len(self.sets[client][0])
            trained.append((model, count))
        self._average(trained)
        return self._test()

    def _train(self, model: nn.Module, client: str) -> None:
        how = self.workload.solver
        loader = DataLoader(self.sets[client][0], batch_size=how.batch, shuffle=True)
        optimiser = torch.optim.SGD(model.parameters(), lr=how.lr, momentum=how.momentum)
        model.train()
        left = how.steps if how.steps is not None else how.epochs * len(loader)
        while left:
            for x, y in loader:
                if not left:
                    break
                left -= 1
                if model_needs_two(model, x):
                    continue
                optimiser.zero_grad()
                loss_of(model(x), y).backward()  # type: ignore[no-untyped-call]
                optimiser.step()

    def _average(self, trained: list[tuple[nn.Module, int]]) -> None:
        total = sum(count for _, count in trained)
        states = [(model.state_dict(), count / total) for model, count in trained]
        mean = {}
        for name, value in self.model.state_dict().items():
            if value.is_floating_point():
                mean[name] = sum(share * state[name] for state, share in states)
            else:
                mean[name] = states[0][0][name]
        self.model.load_state_dict(mean)

    @torch.no_grad()
    def _test(self) -> float:
        self.model.eval()
        right = total = 0
        for _, test in self.sets.values():
            for x, y in DataLoader(test, batch_size=50):
                scores = self.model(x)
                guess = scores.argmax(1) if scores.shape[1] > 1 else (scores[:, 0] > 0).long()
                right, total = right + int((guess == y).sum()), total + len(y)
        return right / max(total, 1)


def model_needs_two(model: nn.Module, x: torch.Tensor) -> bool:
    """Batch norm cannot train on a batch of one."""
    return len(x) == 1 and any(isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d) for m in model.modules())


def as_set(x: Array, y: Array) -> TensorDataset:
    return TensorDataset(torch.tensor(x), torch.tensor(y))


def loss_of(scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if scores.shape[1] == 1:
        return F.binary_cross_entropy_with_logits(scores[:, 0], y.to(scores.dtype))
    return F.cross_entropy(scores, y)
