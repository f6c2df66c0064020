"""Makes results/extra/batch-norm.json: what it changes to test a network with batch norm in the mode of training.

python -m tools.batch_norm

The public framework of WeCFL's first author never leaves that mode (departure D104): a client's test samples go through
the network in batches of 32, sorted by class, and batch norm takes mean and variance of the batch. Here methods of the
paper's Table 2 on Fashion-MNIST are played, and their models of the last round are tested both ways. IFCA is the one of
that framework, whose models are one object (departure D103).
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch import nn

import shoal
from shoal.recipes.papers.wecfl import PAPER
from shoal.recipes.papers.wecfl_code import CODE
from shoal.types import Array

TARGET = Path(__file__).parents[1] / "results" / "extra" / "batch-norm.json"
BATCH = 32
CELLS = {cell.name: cell for table in PAPER.tables for cell in table.cells}
PLAYED = tuple(
    f"wecfl/table2-fmnist-{kind}/{column}" for column in ("k1/fedavg", "k10/ifca") for kind in ("classes", "dirichlet")
)


def answers(net: nn.Module, x: Array, training: bool) -> Array:
    """The classes that a network says, of samples in batches in their order.

    Args:
        net: The network.
        x: Inputs.
        training: Whether it is in the mode of training, in which a batch is seen by itself.

    Returns:
        A class for each.
    """
    net.train(training)
    with torch.no_grad():
        parts = (torch.as_tensor(x[start : start + BATCH]) for start in range(0, len(x), BATCH))
        return torch.cat([net(part).argmax(1) for part in parts]).numpy()


def tested(run: Any, training: bool) -> dict[str, float]:
    """Accuracy over all test samples, and the mean over clients of macro F1, of a run's models.

    Args:
        run: A finished run.
        training: The mode of the networks.

    Returns:
        Both figures.
    """
    federation, right, total, f1 = run.plan.federation, 0, 0, []
    which_N = run.serving.which(federation.ids)
    nets = run.models
    for client, k in zip(federation.ids, which_N, strict=True):
        x, y = federation.client(client)("test")
        order = np.argsort(y, kind="stable")
        said = answers(nets[k], x[order], training)
        right, total = right + int((said == y[order]).sum()), total + len(y)
        f1.append(float(f1_score(y[order], said, average="macro")))
    return {"accuracy": round(right / total, 5), "f1": round(fmean(f1), 5)}


def play(name: str) -> dict[str, Any]:
    """A cell of WeCFL's Table 2, with inputs as in the code, and its models tested both ways.

    Args:
        name: Of the cell.

    Returns:
        The figures.
    """
    cell = CELLS[name]
    keys = {**cell.keys, **CODE[cell.column][0], "data": f"{cell.keys['data']}:symmetric", "eval_every": 10}
    run = shoal.run(cell.algorithm, keys.pop("data"), keys.pop("model"), seed=0, **keys)
    return {"running": tested(run, False), "batches": tested(run, True), "rounds": keys["rounds"]}


def main() -> None:
    torch.set_num_threads(1)
    found = json.loads(TARGET.read_text())["played"] if TARGET.exists() else {}
    for name in PLAYED:
        if name not in found:
            found[name] = play(name)
            TARGET.write_text(json.dumps({"command": "python -m tools.batch_norm", "seed": 0, "played": found}) + "\n")
            print(name, found[name], flush=True)


if __name__ == "__main__":
    main()
