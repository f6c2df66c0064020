"""What many tests share: a small planted federation, a small model, one pool of workers for the whole test run."""

from __future__ import annotations

import os
import signal
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import nn

from shoal.backends import Workers
from shoal.data.federation import Federation

SOURCE = Path(__file__).parent.parent / "src"

torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so begin a shell's background jobs, and all that they start
    signal.signal(signal.SIGINT, signal.default_int_handler)
collect_ignore_glob = ["strangers/*"]  # they declare things, in processes of their own
# Processes that tests start run the code of this tree, also where another one is installed.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")]))
for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):  # what is printed is compared
    os.environ.pop(name, None)
# The same examples on every machine, however slow it is; `--hypothesis-profile=default` looks for others.
settings.register_profile("everywhere", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("everywhere")


@pytest.fixture(scope="session")
def pool() -> Iterator[Workers]:
    """Two workers, started once."""
    workers = Workers(2)
    yield workers
    workers.close()


@pytest.fixture(scope="session")
def toy() -> Federation:
    """Twelve clients of unequal size in two planted groups that disagree on the labels."""
    return make_toy()


def make_toy(clients: int = 12, seed: int = 0) -> Federation:
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(3, 6))
    arrays = {}
    for i in range(clients):
        n = 12 + 3 * i
        y = rng.integers(0, 3, n)
        x = centres[y] + rng.normal(size=(n, 6))
        arrays[f"c{i:02d}"] = (x.astype(np.float32), (y + i % 2) % 3)
    made = Federation.from_arrays(arrays, test=0.25, name="toy")
    return replace(made, truth=np.arange(clients) % 2)


def small_net() -> nn.Module:
    """Batch norm and dropout on purpose: statistics, counters and random masks must all be reproducible."""
    features = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    head = nn.Sequential(nn.Dropout(0.3), nn.Linear(8, 3))
    return nn.Sequential(OrderedDict(features=features, head=head))
