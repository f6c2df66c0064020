"""What algorithms call: asks clients through a back end, judges every answer, counts what travels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from math import prod
from typing import Any

import numpy as np

from shoal.backends.backend import Backend, Outcome, Unit
from shoal.backends.unit import Chain, OneClient
from shoal.data.federation import Federation, Source
from shoal.engine.bulk import Pool, in_bulk, lay_out
from shoal.engine.ledger import Count, Ledger
from shoal.errors import BadInput, TooFewAnswers
from shoal.layout import Layout
from shoal.net import PLAIN, Arithmetic
from shoal.seeds import Key
from shoal.types import Answers, Array, Cohort, Failure, Memory, Roster, Task, expect
from shoal.validate import check_all, check_declaration

POOLS = 4  # cohorts laid out for work in bulk that are kept for the next round


class Engine:
    """Lets clients do tasks: `map` and `chain` over any back end.

    Args:
        backend: Where the work is done; it begins anew.
        layout: The model.
        min_answers: Answers without which a call fails; never more than clients were asked.
        timeout: Seconds that a client may take.
        arithmetic: How to compute.

    >>> from torch import nn
    >>> from shoal.backends import Serial
    >>> from shoal.tasks import LabelHistogram
    >>> ann, bob = (np.eye(2), [0, 1]), (np.eye(2), [1, 1])
    >>> federation = Federation.from_arrays({"ann": ann, "bob": bob}, test=0.0)
    >>> engine = Engine(Serial(), Layout.of(lambda: nn.Linear(2, 2), federation.sample()))
    >>> engine.set_federation(federation)
    >>> engine.map(LabelHistogram(), ("ann", "bob"), None, None, Key(0))["histogram"].tolist()
    [[1, 1], [0, 2]]
    """

    def __init__(
        self,
        backend: Backend,
        layout: Layout,
        *,
        min_answers: int = 1,
        timeout: float | None = None,
        arithmetic: Arithmetic = PLAIN,
    ) -> None:
        if min_answers < 0 or (timeout is not None and timeout <= 0):
            raise BadInput("min_answers must be at least 0 and timeout, if given, above 0")
        self.layout = layout
        self._backend, self._min_answers, self._timeout = backend, min_answers, timeout
        self._ledger = Ledger()
        self._federation: Source | None = None
        self._pools: dict[tuple[str, Cohort, bytes], tuple[Pool, tuple[Failure, ...]]] = {}
        backend.open(layout, arithmetic)

    @property
    def clients(self) -> Roster:
        """Who is there in this round."""
        assert self._federation is not None
        return self._federation.roster

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data.

        Args:
            federation: The data of all clients.
        """
        if federation is not self._federation:
            self._federation = federation
            self._pools = {}
            self._backend.set_federation(federation)

    def map(
        self,
        task: Task,
        cohort: Cohort,
        models_KP: Array | None,
        which_N: Array | None,
        key: Key,
        min_answers: int | None = None,
    ) -> Answers:
        """Every client of the cohort does the task.

        Args:
            task: What to do.
            cohort: Who does it.
            models_KP: The models; None: nothing is sent.
            which_N: Which model each is sent; None: all of them.
            key: The randomness of this call.
            min_answers: Answers without which the round fails; None: as many as the run asks for. 0 is for work that a
                round can do without, such as that of newcomers.

        Returns:
            The answers of those who succeeded, in canonical order, and who failed.
        """
        got = self.ask(task, cohort, models_KP, which_N, key)
        self._enough(task, len(got), len(got) + len(got.failed), min_answers)
        return got

    def ask(self, task: Task, cohort: Cohort, models_KP: Array | None, which_N: Array | None, key: Key) -> Answers:
        """`map` without a minimum: what the run itself uses for evaluation.

        Args:
            task: What to do.
            cohort: Who does it.
            models_KP: The models; None: nothing is sent.
            which_N: Which model each is sent; None: all of them.
            key: The randomness of this call.

        Returns:
            The answers of those who succeeded, in canonical order, and who failed.
        """
        assert self._federation is not None
        check_declaration(task)
        sent = np.full(len(cohort), -1) if which_N is None else np.asarray(which_N)
        models_KP = None if models_KP is None else self._fitting(task, models_KP)
        bulk, pooled = task.bulk, self._federation.in_memory if self._backend.holds_data else None
        if bulk is not None and pooled is not None and models_KP is not None:
            pool, failed = self._pool(pooled, bulk.split, cohort, sent)
            stacked = in_bulk(bulk, task.fields, pool, self._backend, models_KP, self.layout.classes)
            self._count(task, len(pool.cohort), len(pool.cohort), models_KP)
            return Answers(pool.cohort, pool.which_N, stacked, failed, models_KP)
        known, failed = self._present(cohort, sent)
        sizes = self.clients.sizes([client for client, _ in known])
        units = [
            OneClient(task, client, k, key.of(client), size or 0, self._timeout)
            for (client, k), size in zip(known, sizes, strict=True)
        ]
        good, bad, accepted = [], list(failed), []
        outcomes = self._run(units, models_KP)
        reasons = self._check(task, outcomes, models_KP, [size or 0 for size in sizes])
        for number, ((client, k), reason, out) in enumerate(zip(known, reasons, outcomes, strict=True)):
            if out.answer is None or reason:
                bad += out.failed or (Failure(client, str(reason)),)
            else:
                good.append((client, k, out.answer))
                accepted.append(number)
        self._backend.keep(accepted)
        self._count(task, len(known), len(known) - len(bad) + len(failed), models_KP, [c for c, _ in known])
        self._log(task, bad)
        return self._stack(task, good, bad, models_KP)

    def chain(self, task: Task, groups: Sequence[Cohort], models_KP: Array, which_M: Array, key: Key) -> Answers:
        """In each group clients work one after the other, each from where the one before it ended.

        Args:
            task: What to do; its answers have an update, a count and a loss.
            groups: The clients of every group, in their order.
            models_KP: The models.
            which_M: The model at which each group begins.
            key: The randomness of this call.

        Returns:
            One row per group in which somebody succeeded, named by its number, and who failed.
        """
        check_declaration(task)
        models_KP = self._fitting(task, models_KP)
        dims = self._dims(models_KP)
        chains: list[Chain] = []
        absent: list[Failure] = []
        for group, k in zip(groups, which_M, strict=True):
            known, missing = self._present(group, np.full(len(group), k), ordered=False)
            absent += missing
            names = tuple(c for c, _ in known)
            sizes = {c: self.clients.size(c) for c in names}
            chains.append(Chain(task, names, int(k), key, dims, sizes, sum(sizes.values()), self._timeout))
        good, bad, accepted = [], list(absent), []
        for number, (chain, out) in enumerate(zip(chains, self._run(chains, models_KP), strict=True)):
            bad += out.failed
            if out.answer is not None:
                good.append((str(number), int(which_M[number]), out.answer))
                accepted.append(number)
            elif not chain.clients:
                self._ledger.events.append({"kind": "empty group", "task": task.name, "group": number})
        self._backend.keep(accepted)
        hops = [c for chain in chains for c in chain.clients]
        self._count(task, len(hops), len(hops) - len(bad) + len(absent), models_KP, hops)
        self._log(task, bad)
        self._enough(task, len(good), len(groups))
        return self._stack(task, good, bad, models_KP)

    def commit(self) -> None:
        """What clients kept in this round is kept."""
        self._backend.commit()

    def rollback(self) -> None:
        """The round did not happen: what clients kept in it is forgotten."""
        self._backend.rollback()

    def snapshot(self) -> tuple[Mapping[str, Memory], Array]:
        """What a checkpoint holds of clients.

        Returns:
            Memories by client, and the vectors at which they point.
        """
        return self._backend.snapshot()

    def restore(self, memories: Mapping[str, Memory], vectors_VP: Array) -> None:
        """Clients remember what they did at a snapshot.

        Args:
            memories: Memories by client.
            vectors_VP: The vectors at which they point.
        """
        self._backend.restore(memories, vectors_VP)

    def drain(self) -> Ledger:
        """What happened since the last call.

        Returns:
            The ledger, which begins anew.
        """
        ledger, self._ledger = self._ledger, Ledger()
        return ledger

    def close(self) -> None:
        """End the back end."""
        self._backend.close()

    def _fitting(self, task: Task, models_KP: Array) -> Array:
        """The models in one piece, if they are models of this layout."""
        what = f"the models sent with the task {task.name!r}"
        return expect(np.ascontiguousarray(models_KP), what, (None, self.layout.size), self.layout.dtype)

    def _present(
        self, cohort: Cohort, sent: Array, ordered: bool = True
    ) -> tuple[list[tuple[str, int]], tuple[Failure, ...]]:
        """The clients that are there, with their model; in canonical order. Who has no samples is left out quietly."""
        sizes = self.clients.sizes(cohort)
        known = [*compress(zip(cohort, sent.tolist(), strict=True), sizes)]  # neither None nor 0
        missing = [c for c, size in zip(cohort, sizes, strict=True) if size is None] if None in sizes else []
        gone = tuple(Failure(c, "not in the federation this round") for c in missing)
        return (sorted(known) if ordered else known), gone

    def _pool(
        self, federation: Federation, split: str, cohort: Cohort, sent: Array
    ) -> tuple[Pool, tuple[Failure, ...]]:
        """The clients that are there, laid out for work in bulk; from the last round if nothing has changed."""
        mark = (split, cohort, sent.tobytes())
        if mark not in self._pools:
            if len(self._pools) >= POOLS:
                self._pools.pop(next(iter(self._pools)))
            known, failed = self._present(cohort, sent)
            self._pools[mark] = lay_out(federation, split, known), failed
        return self._pools[mark]

    def _run(self, units: Sequence[Unit], models_KP: Array | None) -> list[Outcome]:
        outcomes: dict[int, Outcome] = dict(self._backend.run(units, models_KP))
        return [outcomes[i] for i in range(len(units))]

    def _dims(self, models_KP: Array | None) -> Mapping[str, int]:
        return {"P": self.layout.size, "K": 0 if models_KP is None else len(models_KP), "C": self.layout.classes}

    def _check(
        self, task: Task, outcomes: Sequence[Outcome], models_KP: Array | None, announced: Sequence[int]
    ) -> list[str | None]:
        """Why each of the answers cannot be used; None for one that can, and where none came."""
        came = [i for i, out in enumerate(outcomes) if out.answer is not None]
        answers = [outcomes[i].answer or {} for i in came]
        found = check_all(answers, task.fields, self._dims(models_KP), self.layout.dtype, [announced[i] for i in came])
        reasons = dict(zip(came, found, strict=True))
        return [reasons.get(i) for i in range(len(outcomes))]

    def _stack(
        self, task: Task, good: list[tuple[str, int, Mapping[str, Any]]], bad: list[Failure], models_KP: Array | None
    ) -> Answers:
        dims = self._dims(models_KP)
        fields = {}
        for name, spec in task.fields.items():
            kind = np.int64 if spec.kind != "float" else self.layout.dtype if spec.shape else np.float64
            rows = np.empty((len(good), *(dims[letter] for letter in spec.shape)), kind)
            for i, (_, _, answer) in enumerate(good):
                rows[i] = answer[name]
            fields[name] = rows
        cohort = tuple(c for c, _, _ in good)
        which_N = fields["choice"] if "choice" in fields else np.array([k for _, k, _ in good], int)
        return Answers(cohort, which_N, fields, tuple(bad), models_KP)

    def _count(self, task: Task, asked: int, came: int, models_KP: Array | None, workers: Sequence[str] = ()) -> None:
        """Vectors sent to those asked and back from those who answered; bytes of the other fields beside them."""
        dims = self._dims(models_KP)
        sent = {"one": 1, "all": dims["K"], "none": 0}[task.models] if models_KP is not None else 0
        extra = min(task.uncounted, sent)
        back = sum(f.shape == ("P",) for f in task.fields.values())
        small = sum(8 * prod(dims[s] for s in f.shape) for f in task.fields.values() if f.shape != ("P",))
        count = Count(
            asked * sent, came * back, asked * sent * self.layout.bytes, came * (back * self.layout.bytes + small)
        )
        count.uncounted = asked * extra
        for size, times in Counter(self.clients.sizes(workers)).items():
            forward, backward = task.work(size or 0, dims["K"])
            count.forward, count.backward = count.forward + times * forward, count.backward + times * backward
        self._ledger.add(task, count)

    def _log(self, task: Task, bad: Sequence[Failure]) -> None:
        for f in bad:
            self._ledger.events.append({"kind": "left out", "client": f.client, "task": task.name, "reason": f.reason})

    def _enough(self, task: Task, came: int, asked: int, min_answers: int | None = None) -> None:
        needed = min(self._min_answers if min_answers is None else min_answers, max(asked, 1))
        if came < needed:
            events = [e for e in self._ledger.events if e.get("task") == task.name and "client" in e]
            why = f"; {events[0]['client']!r}: {events[0]['reason']}" if events else ""
            raise TooFewAnswers(f"{came} of {asked} answered {task.name!r}, at least {needed} must{why}", came)
