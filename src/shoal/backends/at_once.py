"""Many units in one call of the kernel, in whatever process: the cohort of a call, its chains, a worker's portion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.backends.backend import Outcome, Unit
from shoal.backends.cohort import KernelData, LocalCohort
from shoal.backends.memory import Recall, refer
from shoal.backends.unit import Chain, OneClient
from shoal.seeds import Key
from shoal.types import EVERYBODY, Array, Cohort, CohortAnswers, Task
from shoal.validate import has_cohort_form


@dataclass(frozen=True)
class AtOnce:
    """What a call's clients find in a process whose kernel takes the model.

    What a task raises goes to the caller; arithmetic on one thread and without denormals is for the caller to see to.

    Args:
        data: All samples.
        models_KP: The models that are sent.
        memory: What a client keeps, as it is stored.
        vectors_VP: The vectors that clients keep.
        threads: How many may work at a time.
    """

    data: KernelData
    models_KP: Array | None
    memory: Recall
    vectors_VP: Array
    threads: int = 1

    def cohort(self, task: Task, clients: Cohort, which_N: Array, key: Key) -> CohortAnswers | None:
        """All clients do the task, which has a form for cohorts; None: one by one."""
        if not sent_alike(task, self.models_KP, which_N):
            return None
        return task.for_cohort(self._at_work(clients, which_N), key)

    def units(self, units: Sequence[Unit]) -> list[Outcome] | None:
        """Units that differ in client and model alone, what each leaves; None: one by one."""
        ones = [unit for unit in units if isinstance(unit, OneClient)]
        if len(ones) < len(units):
            return self.chains(units)
        clients, first = tuple(unit.client for unit in ones), ones[0]
        key = replace(first.key, client=None)
        same = all(u.task is first.task and u.key == key.of(u.client) and u.timeout is None for u in ones)
        single = len(set(clients)) == len(clients) and EVERYBODY not in clients
        if not same or not single or not has_cohort_form(first.task):
            return None
        answers = self.cohort(first.task, clients, np.array([unit.which for unit in ones]), key)
        if answers is None or answers.failed is not None:
            return None
        kept = {c: refer(memory, self.models_KP, self.vectors_VP) for c, memory in answers.memories.items()}
        fields = {name: rows if rows.ndim > 1 else rows.tolist() for name, rows in answers.fields.items()}
        return [
            Outcome({name: rows[i] for name, rows in fields.items()}, {c: kept[c]} if c in kept else {})
            for i, c in enumerate(clients)
        ]

    def chains(self, units: Sequence[Unit]) -> list[Outcome] | None:
        """Chains that do the same task, what each leaves; None: hop by hop."""
        chains = [unit for unit in units if isinstance(unit, Chain)]
        full = [chain for chain in chains if chain.clients]
        if self.models_KP is None or not full or len(chains) < len(units) or not alike(chains):
            return None
        cohort, lengths_M = sum((chain.clients for chain in full), ()), np.array([len(c.clients) for c in full])
        which_N = np.repeat([chain.which for chain in full], lengths_M)
        answers = full[0].task.for_chains(self._at_work(cohort, which_N), lengths_M, full[0].key)
        if answers is None:
            return None
        answered = iter([{name: rows[i] for name, rows in answers.fields.items()} for i in range(len(full))])
        return [Outcome(next(answered) if chain.clients else None) for chain in chains]

    def _at_work(self, clients: Cohort, which_N: Array) -> LocalCohort:
        places_N = self.data.federation.places(clients)
        return LocalCohort(
            self.data, clients, places_N, self.models_KP, which_N, self.memory, self.vectors_VP, self.threads
        )


def alike(chains: Sequence[Chain]) -> bool:
    """Whether chains differ in clients and models alone, and their task has a form for chains."""
    task, key, timeout = chains[0].task, chains[0].key, chains[0].timeout
    same = all(chain.task is task and chain.key == key for chain in chains)
    return same and timeout is None and task.models == "one" and has_cohort_form(task, "for_chains")


def sent_alike(task: Task, models_KP: Array | None, which_N: Array) -> bool:
    """Whether every client is sent what the task declares: one model that is there, all of them, or nothing."""
    if task.models == "one":
        return models_KP is not None and bool(((which_N >= 0) & (which_N < len(models_KP))).all())
    return bool((which_N < 0).all())
