"""Makes results/extra/fedbase.json: what the public framework of WeCFL's first author gives on one of our splits.

pip install --no-deps --target DIR fedbase==0.6.9
python -m tools.fedbase DIR ifca fedavg wecfl fesem

Clients, server, networks and methods are the package's, run as they are on CIFAR-10 (3, 2), seed 0, with its settings
of WeCFL's tables. Ours are: the split, which is that of Shoal's recipes; a loader of batches that does the same in less
time; gradients, which it collects and uses for nothing here, are forgotten after every round; and IFCA's clients, who
compare models by their losses, work out the loss of the server's model once in a round, and not anew, on other batches,
for every name that it has. The file is written after every round.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset

from shoal.data.build import build_kept

COMMAND = "python -m tools.fedbase DIR ifca fedavg wecfl fesem"
TARGET = Path(__file__).parents[1] / "results" / "extra" / "fedbase.json"
NOT_NEEDED = ("fedbase.utils.data_loader", "fedbase.utils.visualize", "matplotlib", "matplotlib.pyplot")
SEED, ROUNDS, STEPS, BATCH, K = 0, 100, 10, 32, 10
DATA, PARTITION = "cifar10:symmetric", "cluster-classes"
WITH_GROUPS = ("ifca", "fesem", "wecfl")


@dataclass
class Loader:
    """Batches of a data set, in a new order every time if asked, the last one smaller: as torch's loader has them.

    >>> [len(y) for _, y in Loader(TensorDataset(torch.zeros(5, 1), torch.zeros(5)), 2, shuffle=True)]
    [2, 2, 1]
    """

    dataset: TensorDataset
    batch_size: int
    shuffle: bool

    def __len__(self) -> int:
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        n = len(self.dataset)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        for start in range(0, n, self.batch_size):
            mine = order[start : start + self.batch_size]
            yield tuple(field[mine] for field in self.dataset.tensors)


def watched(method: str, node: Any, server_class: Any) -> tuple[Any, Any]:
    """The package's client and server, of which the server writes down what comes of each round.

    Args:
        method: By name.
        node: The class of clients.
        server_class: That of the server.

    Returns:
        Classes that do the same.
    """
    servers: list[Any] = []  # once a round was tested
    known: dict[int, Any] = {}  # losses of the server's model by client, in a round

    class Node(node):  # type: ignore[misc]
        @torch.no_grad()
        def local_train_loss(self, model: Any) -> Any:
            if not servers or model is not servers[-1].model:
                return super().local_train_loss(model)
            if self.id not in known:
                known[self.id] = super().local_train_loss(model)
            return known[self.id]

    class Server(server_class):  # type: ignore[misc]
        def acc(self, nodes: Any, idlist: Any, weight_type: str = "data_size") -> None:
            super().acc(nodes, idlist, weight_type)
            servers[:] = [self]
            known.clear()
            for one in nodes:
                one.grads = []
            write(method, self.test_metrics)

    return Node, Server


def write(method: str, metrics: list[list[float]]) -> None:
    """The rounds that a method has played, into the file.

    Args:
        method: By name.
        metrics: Accuracy and F1 of every round.
    """
    found = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    accuracy, f1 = ([round(float(row[i]), 5) for row in metrics] for i in (0, 1))
    played = {**found.get("played", {}), method: {"rounds": len(metrics), "accuracy": accuracy, "f1": f1}}
    about = {"package": "fedbase 0.6.9", "data": DATA, "partition": PARTITION, "seed": SEED, "groups": K}
    TARGET.write_text(json.dumps({"command": COMMAND, **about, "played": played}) + "\n")
    print(method, len(metrics), f"{100 * accuracy[-1]:.1f} %", file=sys.stderr, flush=True)


def split_of(split: str) -> list[TensorDataset]:
    """The samples of every client in the order of the package's own partitions: clients of a cluster side by side."""
    federation = build_kept(DATA, PARTITION, SEED)
    parts = []
    for client in federation.ids:
        x, y = federation.client(client)(split)
        parts.append(TensorDataset(torch.as_tensor(np.asarray(x)), torch.as_tensor(np.asarray(y, np.int64))))
    return parts


def play(method: str, parts: tuple[list[TensorDataset], list[TensorDataset]]) -> None:
    """A method of the package, from its first round on.

    Args:
        method: A module of `fedbase.baselines`.
        parts: Training and test samples of every client.
    """
    module: Any = importlib.import_module(f"fedbase.baselines.{method}")
    nodes, servers, nets = (
        importlib.import_module(f"fedbase.{name}") for name in ("nodes.node", "server.server", "model.model")
    )
    module.node, module.server_class = watched(method, nodes.node, servers.server_class)
    module.DataLoader = Loader
    optimiser = partial(torch.optim.SGD, lr=0.001, momentum=0.9)
    groups = (K,) if method in WITH_GROUPS else ()
    own = (len(parts[0]), nets.CNNCifar, torch.nn.CrossEntropyLoss, optimiser, ROUNDS, STEPS)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    with contextlib.redirect_stdout(io.StringIO()):
        module.run((*parts, "shoal"), BATCH, *groups, *own, device=torch.device("cpu"))


def main(folder: str, *methods: str) -> None:
    """Plays methods one after the other.

    Args:
        folder: Where the package lies.
        methods: Which.
    """
    torch.set_num_threads(1)
    sys.path.insert(0, folder)
    for name in NOT_NEEDED:
        sys.modules[name] = ModuleType(name)
    empty: Any = sys.modules["fedbase.utils.data_loader"]
    empty.data_process, empty.log = None, lambda *_: None
    drawing: Any = sys.modules["fedbase.utils.visualize"]
    drawing.dimension_reduction = None
    plots: Any = sys.modules["matplotlib"]
    plots.pyplot = sys.modules["matplotlib.pyplot"]
    parts = (split_of("train"), split_of("test"))
    for method in methods:
        play(method, parts)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
