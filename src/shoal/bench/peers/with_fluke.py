"""fluke: its FedAVG with ready-made data loaders."""

from __future__ import annotations

import time
from typing import Any

import torch
from fluke import DDict, FlukeENV
from fluke.algorithms.fedavg import FedAVG
from fluke.data import DataSplitter, DummyDataContainer, FastDataLoader
from fluke.utils import FederationObserver

from shoal.bench.peers import Job


class Marks(FederationObserver):  # type: ignore[misc]
    """Notes when rounds begin and end."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.took: list[float] = []

    def start_round(self, round: int, global_model: Any) -> None:
        self.began.append(time.perf_counter())

    def end_round(self, round: int) -> None:
        self.took.append(time.perf_counter() - self.began[-1])


def play(job: Job, rounds: int) -> list[float]:
    """Seconds of so many rounds after the first."""
    env = FlukeENV()
    env.set_seed(0)
    env.set_device("cpu")
    env.set_eval_cfg(eval_every=10**6, pre_fit=False, post_fit=False, locals=False, server=False)
    how, classes = job.solver, job.classes

    def loader(x: Any, y: Any) -> FastDataLoader:
        tensors = torch.as_tensor(x), torch.as_tensor(y)
        return FastDataLoader(*tensors, num_labels=classes, batch_size=how.batch, shuffle=True, skip_singleton=False)

    parts = [loader(x, y) for x, y in job.clients.values()]
    container = DummyDataContainer(parts, [None] * len(parts), None, classes)
    settings = DDict(
        client=DDict(
            batch_size=how.batch,
            local_epochs=max(job.epochs),
            loss=torch.nn.CrossEntropyLoss,
            optimizer=DDict(name=torch.optim.SGD, lr=how.lr, momentum=how.momentum),
            scheduler=DDict(name=torch.optim.lr_scheduler.StepLR, step_size=1, gamma=1.0),
        ),
        server=DDict(weighted=True),
        model=job.module(),
    )
    marks = Marks()
    algorithm = FedAVG(len(parts), DataSplitter(container), settings)
    algorithm.attach(marks)
    algorithm.run(rounds + 1, eligible_perc=1.0)
    return marks.took[1:]
