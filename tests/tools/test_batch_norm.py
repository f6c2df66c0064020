"""Batch norm in both modes, by hand: with its running statistics, and with those of the batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import shoal
from tools import batch_norm


def signs() -> nn.Module:
    """Says 1 of what is positive after batch norm, whose running statistics are those of the beginning: 0 and 1."""
    out = nn.Linear(1, 2, bias=False)
    out.weight.data = torch.tensor([[-1.0], [1.0]])
    return nn.Sequential(nn.BatchNorm1d(1), out)


def test_in_training_a_batch_is_seen_by_itself() -> None:
    x = np.array([[10.0], [12.0]], np.float32)
    assert batch_norm.answers(signs(), x, training=False).tolist() == [1, 1]  # both are positive
    assert batch_norm.answers(signs(), x, training=True).tolist() == [0, 1]  # -1 and 1 beside each other


def test_batches_are_of_32_samples_in_their_order() -> None:
    x = np.concatenate([np.full((16, 1), 1.0), np.full((16, 1), 2.0), np.full((3, 1), 5.0)]).astype(np.float32)
    x[-1] = 6.0  # the last batch: 5, 5 and 6
    assert batch_norm.answers(signs(), x, training=True).tolist() == [0] * 16 + [1] * 16 + [0, 0, 1]


def test_models_of_a_run_are_tested_as_the_run_did_and_otherwise() -> None:
    def net() -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, 10))

    run = shoal.run("local", "digits", net, rounds=1, steps=20, lr=0.1, seed=0, engine="serial")
    running, batches = (batch_norm.tested(run, training) for training in (False, True))
    assert running["accuracy"] == round(run.summary["last_accuracy"], 5)
    assert running["f1"] == round(run.summary["last_f1"], 5)
    assert batches != running
