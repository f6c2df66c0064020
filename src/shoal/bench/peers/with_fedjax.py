"""FedJAX: federated averaging by `for_each_client`, compiled by JAX; logistic regression only."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shoal.bench.peers import Job, clocked

if not hasattr(jax, "tree_map"):  # FedJAX calls it by the name that it had until JAX 0.4
    jax.tree_map = jax.tree_util.tree_map

import fedjax


def play(job: Job, rounds: int) -> list[float]:
    """Seconds of so many rounds after the first."""
    how = job.solver
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        jax.grad(lambda params, batch, rng: losses(params, batch, rng).mean()),
        fedjax.optimizers.sgd(how.lr),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=how.batch, num_epochs=how.epochs),
    )
    clients, state = clients_of(job), algorithm.init(start_of(job))

    def one() -> None:
        nonlocal state
        state, _ = algorithm.apply(state, clients)
        jax.block_until_ready(state.params)

    return clocked([one] * (rounds + 1))


def losses(params: Any, batch: Any, rng: Any) -> Any:
    """The loss of every sample of a batch."""
    scores = batch["x"].reshape(len(batch["x"]), -1) @ params["w"].T + params["b"]
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), batch["y"][:, None], 1)[:, 0]


def start_of(job: Job) -> dict[str, Any]:
    """The model that all start from."""
    weights, bias = (p.detach().numpy() for p in job.module().parameters())
    return {"w": jnp.asarray(weights), "b": jnp.asarray(bias)}


def clients_of(job: Job) -> list[Any]:
    """The clients of a round as FedJAX takes them."""
    data = {c.encode(): {"x": x, "y": y.astype(np.int32)} for c, (x, y) in job.clients.items()}
    federated = fedjax.InMemoryFederatedData(data)
    return [(c, federated.get_client(c), jax.random.PRNGKey(i)) for i, c in enumerate(data)]
