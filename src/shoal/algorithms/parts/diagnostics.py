"""What the theories of WeCFL and FlexCFL speak of, measured in a round: gradients at solutions and at groups' models.

Diagnostics: clients send gradients and losses that the method itself does not need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.measures import (
    clusterability,
    clustering_step,
    descent_step,
    divergence_bound,
    gradient_divergence,
    gradient_noise,
    group_divergence,
    least_eps,
    mean_square_gradient,
    norms,
    objective,
    rounds_needed,
    smoothness,
)
from shoal.seeds import Key
from shoal.solvers import SGD
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


def diagnose(at: Fitted, everything: bool, every: int, solver: Solver, engine: Engine, key: Key) -> dict[str, Any]:
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
    """R, the mean squared gradient at the centres, U, sigma, B, an estimate of beta, theorem 6.8's bounds, equation 9.

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
    lr, found = learning_rate(solver, key.round + 1), (b["B_max"], noise.U, noise.variance, beta)
    return {
        **b,
        "R": R,
        "gradient_square": G,
        "U": noise.U,
        "sigma": float(np.sqrt(noise.variance)),
        "beta": beta,
        "lr_clustering": clustering_step(apart_N, np.maximum(steps_N, 1), noise.U),
        "lr_descent": descent_step(G, *found),
        "eps_floor": least_eps(lr, *found),
        "rounds_needed": rounds_needed(R, G, int(steps_N.min()), lr, *found),
    }


def divergence(
    got: Answers, models: tuple[Array, Array], between: float, solver: Solver, engine: Engine, key: Key
) -> dict[str, float]:
    """FlexCFL's delta, estimates of M and L, and the bound of its theorem 1, from the clients of a round.

    Two gradients of each client, at its group's model before the round and after it, stand for "all w" (departure D89).
    Clients that fail to measure are left out.

    Args:
        got: The answers of the round.
        models: The groups' models before it and after it.
        between: `eta_g (|G| - 1)`.
        solver: What clients train with.
        engine: Asks the clients.
        key: Of the round.

    Returns:
        Measures by name.
    """
    before_KP, after_KP = models
    one = engine.map(Gradient(), got.cohort, before_KP, got.which_N, key("gradient before"), min_answers=0)
    which_N = got.which_N[places(got, one)]
    two = engine.map(Gradient(), one.cohort, after_KP, which_N, key("gradient after"), min_answers=0)
    if not len(two):
        return {}
    here, trainable = places(one, two), engine.layout.trainable
    labels_N, weights_N = which_N[here], two["count"]
    first_NP, second_NP = one["gradient"][here][:, trainable], two["gradient"][:, trainable]
    divergence_N = np.max([gradient_divergence(g_NP, weights_N, labels_N) for g_NP in (first_NP, second_NP)], 0)
    found = group_divergence(divergence_N, weights_N, labels_N)
    M = float(max(norms(first_NP).max(), norms(second_NP).max()))
    L = smoothness(first_NP, second_NP, norms((after_KP - before_KP)[:, trainable])[labels_N])
    steps = max(solver.steps_for(int(n)) for n in two["count"])
    bound = divergence_bound(found.delta, M, L, learning_rate(solver, key.round), steps, between)
    return {"delta": found.delta, "delta_max": found.largest, "M": M, "L": L, "loss_bound": bound}


def learning_rate(solver: Solver, round: int) -> float:
    """The learning rate of a round; nan for a solver that does not tell."""
    return solver.lr * solver.lr_decay ** max(round - 1, 0) if isinstance(solver, SGD) else float("nan")


def places(all_: Answers, some: Answers) -> Array:
    """Where the clients of some answers stand among all of them."""
    row = {name: i for i, name in enumerate(all_.cohort)}
    return np.array([row[name] for name in some.cohort], int)
