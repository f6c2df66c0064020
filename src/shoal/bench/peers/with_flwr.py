"""Flower: message apps on the simulation runtime (Ray), one core a client."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch.utils.data import DataLoader

from shoal.bench.peers import Job
from shoal.bench.plain import as_set, loss_of


def play(
    job: Job, rounds: int, clock: Callable[[], float] = time.perf_counter, cores: int | None = None
) -> list[float]:
    """Seconds of so many rounds after the first, by a clock, on so many cores."""
    client, server, marks = ClientApp(), ServerApp(), []
    parts, how, epochs = list(job.clients.values()), job.solver, job.epochs

    @client.train()  # type: ignore[untyped-decorator]
    def train(msg: Message, context: Context) -> Message:
        torch.set_num_threads(1)
        number = int(context.node_config["partition-id"])
        model, data = job.module().train(), as_set(*parts[number])
        model.load_state_dict(msg.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(model.parameters(), lr=how.lr, momentum=how.momentum)
        left = -1 if how.steps is None else how.steps
        for _ in range(epochs[number]):
            for x, y in DataLoader(data, batch_size=how.batch, shuffle=True):
                if left == 0:
                    break
                left -= 1
                optimiser.zero_grad()
                loss_of(model(x), y).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        content = RecordDict(
            {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": len(data)})}
        )
        return Message(content=content, reply_to=msg)

    @server.main()  # type: ignore[untyped-decorator]
    def main(grid: Grid, context: Context) -> None:
        def mark(round: int, arrays: Any) -> None:
            marks.append(clock())

        strategy = FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=len(parts))
        strategy.start(grid, ArrayRecord(job.module().state_dict()), num_rounds=rounds + 1, evaluate_fn=mark)

    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": cores}}
    run_simulation(server, client, num_supernodes=len(parts), backend_config=resources)
    return [after - before for before, after in pairwise(marks[1:])]
