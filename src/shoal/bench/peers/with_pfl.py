"""pfl-research: federated averaging on its simulated backend."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import nn

from shoal.bench.peers import Job
from shoal.bench.plain import loss_of


class Marks(TrainingProcessCallback):  # type: ignore[misc]
    """Notes when central iterations end."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def after_central_iteration(self, *args: Any, **kwargs: Any) -> Any:
        self.at.append(time.perf_counter())
        return False, Metrics()


class Model(nn.Module):
    """The module with the two methods that pfl asks for."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> torch.Tensor:
        scores: torch.Tensor = self.inner(torch.as_tensor(x))
        return scores

    def loss(self, x: Any, y: Any, eval: bool = False) -> torch.Tensor:
        self.train(not eval)
        return loss_of(self(x), torch.as_tensor(y).long().reshape(-1))

    def metrics(self, x: Any, y: Any, eval: bool = True) -> dict[str, Any]:
        return {"loss": Weighted(self.loss(x, y, eval).item(), len(y))}


def play(job: Job, rounds: int) -> list[float]:
    """Seconds of so many rounds after the first."""
    np.random.seed(0)
    how, marks, names = job.solver, Marks(), list(job.clients)
    model = PyTorchModel(
        Model(job.module()),
        local_optimizer_create=lambda params, lr: torch.optim.SGD(params, lr=lr, momentum=how.momentum),
        central_optimizer=None,
    )
    model._central_optimizer = torch.optim.SGD(model.pytorch_model.parameters(), lr=1.0)

    def data(user: str) -> Dataset:
        x, y = job.clients[user]
        return Dataset(raw_data=[torch.as_tensor(x), torch.as_tensor(y)], user_id=user)

    federated = FederatedDataset(data, get_user_sampler("minimize_reuse", names))
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=rounds + 1,
            evaluation_frequency=10**6,
            train_cohort_size=len(names),
            val_cohort_size=None,
        ),
        backend=SimulatedBackend(training_data=federated, val_data=federated),
        model=model,
        model_train_params=NNTrainHyperParams(
            local_num_epochs=max(job.epochs) if how.steps is None else None,
            local_num_steps=how.steps,
            local_learning_rate=how.lr,
            local_batch_size=how.batch,
        ),
        callbacks=[marks],
    )
    return [after - before for before, after in pairwise(marks.at)]
