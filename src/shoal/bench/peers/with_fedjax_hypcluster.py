"""FedJAX's HypCluster, IFCA by another name: as many groups as the clustered methods have; logistic regression only."""

from __future__ import annotations

import jax

from shoal.bench.clustered import GROUPS
from shoal.bench.peers import Job, clocked
from shoal.bench.peers.with_fedjax import clients_of, losses, start_of

import fedjax  # isort: skip  (after the module above, which gives JAX a name that it lacks)

WHOLE = 256  # samples that go through all models at once when a client chooses


def play(job: Job, rounds: int) -> list[float]:
    """Seconds of so many rounds after the first: every client tries all models and trains the best."""
    how, start = job.solver, start_of(job)
    algorithm = fedjax.algorithms.hyp_cluster.hyp_cluster(
        losses,
        fedjax.optimizers.sgd(how.lr),
        fedjax.optimizers.sgd(1.0),
        fedjax.PaddedBatchHParams(batch_size=WHOLE),
        fedjax.ShuffleRepeatBatchHParams(batch_size=how.batch, num_epochs=how.epochs),
    )
    clients = clients_of(job)
    state = algorithm.init([jax.tree_util.tree_map(lambda p, k=k: p * (1 + 0.1 * k), start) for k in range(GROUPS)])

    def one() -> None:
        nonlocal state
        state, _ = algorithm.apply(state, clients)
        jax.block_until_ready(state.cluster_params)

    return clocked([one] * (rounds + 1))
