"""What is ours around the package of WeCFL's first author: batches, and losses that are worked out once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import TensorDataset

from tools import fedbase


def test_batches_hold_every_sample_once_in_a_new_order() -> None:
    data = TensorDataset(torch.arange(7.0)[:, None], torch.arange(7))
    torch.manual_seed(0)
    first, second = (torch.cat([y for _, y in fedbase.Loader(data, 3, shuffle=True)]).tolist() for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(7)) and first != second
    assert [y.tolist() for _, y in fedbase.Loader(data, 3, shuffle=False)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(fedbase.Loader(data, 3, shuffle=True)) == 3


class Client:
    """Counts how often it is asked for a loss."""

    def __init__(self, name: int) -> None:
        self.id, self.asked, self.grads = name, 0, [1.0]

    def local_train_loss(self, model: Any) -> int:
        self.asked += 1
        return self.asked


class Server:
    def __init__(self) -> None:
        self.model, self.test_metrics = SimpleNamespace(), [[0.5, 0.25]]

    def acc(self, nodes: Any, idlist: Any, weight_type: str = "data_size") -> None:
        pass


def test_the_servers_model_is_tried_once_in_a_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fedbase, "TARGET", tmp_path / "fedbase.json")
    node, server_class = fedbase.watched("ifca", Client, Server)
    ann, server, other = node(0), server_class(), SimpleNamespace()
    assert [ann.local_train_loss(server.model) for _ in range(2)] == [1, 2]  # nothing was tested yet
    server.acc([ann], [0])
    assert ann.grads == []
    assert [ann.local_train_loss(server.model) for _ in range(2)] == [3, 3]
    assert [ann.local_train_loss(other) for _ in range(2)] == [4, 5]
    server.acc([ann], [0])
    assert ann.local_train_loss(server.model) == 6
    found = json.loads((tmp_path / "fedbase.json").read_text())
    assert found["played"] == {"ifca": {"rounds": 1, "accuracy": [0.5], "f1": [0.25]}}
