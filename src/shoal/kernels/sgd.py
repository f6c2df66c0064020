"""Local SGD of small networks in C: stages of convolution or recurrent cells if there are any, then a perceptron.

The first layer of a perceptron is trained in the dual form where that is less work. There the weights are never
touched: they are `a W0 + A' X` for the client's samples X, and a step needs the products of samples among themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.calls import JOB, Store, address, i64, pointer
from shoal.kernels.cohort import Plan, run_jobs
from shoal.kernels.native import native, why_none
from shoal.kernels.network import Network
from shoal.kernels.rooms import Rooms
from shoal.kernels.rule import Rule
from shoal.types import Array, expect


class Native:
    """Trains networks of one shape in this process.

    >>> native() is None or Native(Network((2, 2), (True,)), np.dtype(np.float32)).network.widths == (2, 2)
    True
    """

    def __init__(self, network: Network, dtype: np.dtype[Any]) -> None:
        found = native()
        if found is None:
            raise RuntimeError(f"there is no native kernel: {why_none()}; use kernel=torch")
        self.network, self.dtype = network, dtype
        suffix = "f32" if dtype == np.float32 else "f64"
        self.train_cohort = getattr(found[1], f"train_cohort_{suffix}")
        self.train_cohort.argtypes = [pointer, pointer, pointer, i64, i64]
        self.test_cohort = getattr(found[1], f"test_cohort_{suffix}")
        self.test_cohort.argtypes = [pointer, pointer, i64, i64, i64]
        self.room_of = getattr(found[1], f"room_of_{suffix}")
        self.room_of.argtypes, self.room_of.restype = [pointer, i64, i64, i64], i64
        self.rooms = Rooms()
        self.widths = np.array(network.widths, np.int64)
        self.bias = np.array(network.bias, np.uint8)
        self.rectified = np.array(network.rectified or [True] * len(network.bias), np.uint8)
        self.cells = np.array([(c.gru, c.width, c.hidden, c.biases) for c in network.cells], np.int64)
        self.constants = np.array([s.norm or (0.0, 0.0) for s in network.stages], np.float64)

    def train(
        self,
        start_P: Array,
        x: Array,
        y: Array,
        order: Array,
        cuts: Array,
        rule: Rule,
        velocity: Array | None = None,
        dual: bool | None = None,
    ) -> tuple[Array, float]:
        """One client: the update after the batches `order[cuts[s]:cuts[s + 1]]`, and the summed loss over the samples.

        A `velocity` given is the momentum to begin with; it is changed in place. `dual` settles the form.
        """
        x, y, whole = np.ascontiguousarray(x, self.dtype), np.ascontiguousarray(y, np.int64), np.dtype(np.int64)
        expect(y, "the labels", (len(x),), whole)
        expect(order, "the order of the samples", (None,), whole)
        expect(cuts, "the ends of the batches", (None,), whole)
        if len(order) and not (order.min() >= 0 and order.max() < len(y)):
            raise ValueError(f"a place outside the {len(y)} samples in their order")
        if not len(cuts) or cuts[0] < 0 or cuts[-1] > len(order) or (np.diff(cuts) < 1).any():
            raise ValueError(f"batches must follow each other within the {len(order)} places of the order")
        job, index = np.zeros(1, JOB), np.arange(len(x))
        job["index"], job["label"], job["order"], job["cuts"] = (address(a) for a in (index, y, order, cuts))
        job["n"], job["steps"] = len(y), len(cuts) - 1
        plan = Plan(batch=int(np.diff(cuts).max(initial=1)))
        still = np.zeros(1, int)
        update_NP, losses, _ = run_jobs(
            self, Store(x), job, index, y, still, [start_P], plan, rule, [velocity], 1, dual
        )
        return update_NP[0], float(losses[0])
