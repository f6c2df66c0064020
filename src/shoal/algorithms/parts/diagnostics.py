"""What WeCFL's theory speaks of, measured in a round: gradients at the clients' solutions and at their centres.

Diagnostics: clients send gradients and losses that the method itself does not need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.measures import (
    clusterability,
    clustering_step,
    descent_step,
    gradient_noise,
    mean_square_gradient,
    norms,
    objective,
    smoothness,
)
from shoal.seeds import Key
from shoal.tasks import Evaluate, Gradient
from shoal.types import Answers, Array, Engine, Solver


@dataclass(frozen=True)
class Fitted:
    """A round after its E and M step: answers, the clients' solutions and weights, their groups, the new centres."""

    got: Answers
    omega_NP: Array
    lambda_N: Array
    labels_N: Array
    Omega_KP: Array


def diagnose(at: Fitted, everything: bool, every: int, solver: Solver, engine: Engine, key: Key) -> Mapping[str, Any]:
    """What a round measures: all that the theorems speak of, clusterability alone every so many rounds, or nothing.

    Args:
        at: The round.
        everything: Measure all of it.
        every: Rounds between measurements of clusterability; 0: never.
        solver: What clients train with.
        engine: Asks the clients.
        key: Of the round.

    Returns:
        Measures by name.
    """
    if everything:
        return convergence(at, solver, engine, key)
    return own_gradients(at, engine, key)[0] if every and key.round % every == 0 else {}


def own_gradients(at: Fitted, engine: Engine, key: Key) -> tuple[dict[str, float], Answers]:
    """Clusterability B (definition 6.4), and the gradients at the clients' own parameters that it comes from."""
    g = engine.map(Gradient(), at.got.cohort, at.omega_NP, np.arange(len(at.got)), key("gradient"), min_answers=0)
    if not len(g):
        return {}, g
    here = places(at.got, g)
    found = clusterability(g["gradient"][:, engine.layout.trainable], at.lambda_N[here], at.labels_N[here])
    return {"B_max": found.max, "B_mean": found.mean}, g


def convergence(at: Fitted, solver: Solver, engine: Engine, key: Key) -> dict[str, Any]:
    """R, the mean squared gradient at the centres, U, sigma, B, an estimate of beta, and both bounds of theorem 6.8.

    All at the centres after the M step, where the next local steps begin (q = 0 in the paper), but B and beta, which
    also look at the clients' own solutions. Clients that fail to measure are left out.
    """
    b, own = own_gradients(at, engine, key)
    task = Gradient(solver.batch)
    centre = engine.map(task, own.cohort, at.Omega_KP, at.labels_N[places(at.got, own)], key("centre"), min_answers=0)
    if not len(centre):
        return b
    here, trainable = places(at.got, centre), engine.layout.trainable
    labels_N, lambda_N = at.labels_N[here], at.lambda_N[here]
    g_NP, own_NP = centre["gradient"][:, trainable], own["gradient"][places(own, centre)][:, trainable]
    apart_N = norms(at.omega_NP[here][:, trainable] - at.Omega_KP[labels_N][:, trainable])
    steps_N = np.array([solver.steps_for(int(n)) for n in centre["count"]])
    noise, G = gradient_noise(g_NP, centre["norm"], centre["square"]), mean_square_gradient(g_NP, lambda_N)
    beta = smoothness(g_NP, own_NP, apart_N)
    losses = engine.map(Evaluate("train"), centre.cohort, at.Omega_KP, labels_N, key("R"), min_answers=0)
    R = objective(losses["loss"][:, None], np.zeros(len(losses), int), at.lambda_N[places(at.got, losses)])
    return {
        **b,
        "R": R,
        "gradient_square": G,
        "U": noise.U,
        "sigma": float(np.sqrt(noise.variance)),
        "beta": beta,
        "lr_clustering": clustering_step(apart_N, np.maximum(steps_N, 1), noise.U),
        "lr_descent": descent_step(G, b["B_max"], noise.U, noise.variance, beta),
    }


def places(all_: Answers, some: Answers) -> Array:
    """Where the clients of some answers stand among all of them."""
    row = {name: i for i, name in enumerate(all_.cohort)}
    return np.array([row[name] for name in some.cohort], int)
