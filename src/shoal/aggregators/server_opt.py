"""Adaptive server optimisers: FedAdagrad, FedAdam, FedYogi. Reddi et al., ICLR 2021, Algorithm 2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from shoal.aggregators.mean import Mean
from shoal.aggregators.registry import aggregator
from shoal.aggregators.rules import MeanRule, ServerState
from shoal.errors import BadInput, unknown
from shoal.types import Array

Rule = Literal["adagrad", "adam", "yogi"]


def second_moment(rule: Rule, v_P: Array, delta_P: Array, beta2: float) -> Array:
    """How a rule remembers squared updates, elementwise.

    `adagrad`: `v + D^2`; `adam`: `beta2 v + (1 - beta2) D^2`; `yogi`: `v - (1 - beta2) D^2 sign(v - D^2)`.

    Args:
        rule: `adagrad`, `adam` or `yogi`.
        v_P: What is remembered.
        delta_P: D, the mean update.
        beta2: Memory, from 0 to 1 (adam, yogi).

    Returns:
        The new v, P numbers.

    >>> v, d = np.array([4.0]), np.array([1.0])
    >>> [float(second_moment(rule, v, d, 0.5)[0]) for rule in ("adagrad", "adam", "yogi")]
    [5.0, 2.5, 3.5]
    """
    square_P = np.square(delta_P)
    if rule == "adagrad":
        return np.asarray(v_P + square_P)
    if rule == "adam":
        return np.asarray(beta2 * v_P + (1 - beta2) * square_P)
    if rule == "yogi":
        return np.asarray(v_P - (1 - beta2) * square_P * np.sign(v_P - square_P))
    raise unknown("server optimiser", rule, get_args(Rule))


@aggregator("server-optimiser")
@dataclass(frozen=True)
class ServerOptimiser(MeanRule):
    """Takes the mean update for a gradient and follows it with Adagrad, Adam or Yogi.

    `m = beta1 m + (1 - beta1) D`, v by the rule, `w = w + lr m / (sqrt(v) + tau)`; m begins at 0, v at tau^2. D is the
    mean update, by samples or plain. There is no bias correction.

    Args:
        rule: `adagrad`, `adam` or `yogi`.
        lr: Rate of the server.
        beta1: Memory of the mean update.
        beta2: Memory of its square.
        tau: Adaptivity, above 0.
        by: Weights of the mean: `samples`, or `clients`.

    >>> adam = ServerOptimiser("adam", lr=1.0, beta1=0.0, beta2=1.0, tau=0.5)
    >>> adam.step(np.zeros(1), np.array([3.0]), adam.init(np.zeros(1)))[0].tolist()    # 3 / (0.5 + 0.5)
    [3.0]
    """

    rule: Rule
    lr: float
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3
    by: Literal["samples", "clients"] = "samples"

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise unknown("server optimiser", self.rule, get_args(Rule))
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 <= 1):
            raise BadInput(f"beta1 must be from 0 to below 1 and beta2 from 0 to 1, not {self.beta1}, {self.beta2}.")
        if not (self.tau > 0 and self.lr >= 0):
            raise BadInput(f"tau must be above 0 and the server rate at least 0, not {self.tau}, {self.lr}.")

    def shares(self, updates_NP: Array, counts_N: Array) -> Array:
        return Mean(self.by).shares(updates_NP, counts_N)

    def init(self, params_P: Array) -> ServerState:
        return {"m": np.zeros(len(params_P)), "v": np.full(len(params_P), self.tau**2)}

    def step(self, params_P: Array, mean_P: Array, s: ServerState) -> tuple[Array, ServerState]:
        m_P = self.beta1 * s["m"] + (1 - self.beta1) * mean_P
        v_P = second_moment(self.rule, s["v"], mean_P, self.beta2)
        return params_P + self.lr * m_P / (np.sqrt(v_P) + self.tau), {"m": m_P, "v": v_P}
