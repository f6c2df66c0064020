"""What algorithms call: asks clients through a back end, judges every answer, counts what travels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from shoal.backends.backend import Backend, Outcome, Unit
from shoal.backends.unit import Chain, OneClient
from shoal.data.federation import Federation, Source
from shoal.engine.bulk import Asked, Pool, in_bulk, lay_out
from shoal.engine.ledger import Count, Ledger
from shoal.engine.present import NOT_THERE, Present, remember
from shoal.errors import BadInput, TooFewAnswers
from shoal.layout import Layout
from shoal.net import PLAIN, Arithmetic
from shoal.seeds import Key
from shoal.types import Answers, Array, Cohort, CohortAnswers, Failure, Memory, Roster, Task, expect
from shoal.validate import check, check_all, check_declaration, extents, has_cohort_form, shape_letters, stored_as

NOBODY: Array = np.zeros(0, np.int64)


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
        self._forget()
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
            self._forget()
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
        self.enough(task.name, len(got), len(got) + len(got.failed), got.failed, min_answers)
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
        sent = np.full(len(cohort), -1) if which_N is None else np.asarray(which_N, np.int64)
        models_KP = None if models_KP is None else self._fitting(task, models_KP)
        here = self._present(cohort, sent)
        sent = sent[here.order_N]
        in_memory = self._federation.in_memory if self._backend.holds_data else None
        tokens = self.layout.objective.targets == "tokens"  # of all samples together they would not fit into memory
        if task.bulk is not None and in_memory is not None and models_KP is not None and not tokens:
            pool = self._pool(in_memory, task.bulk.split, here, sent)
            dims = self._dims(task, models_KP)
            fields = in_bulk(task.bulk, task.fields, pool, self._backend, models_KP, dims, self.layout)
            self._count(task, len(here), len(here), models_KP)
            return Answers(here.clients, sent, fields, here.gone, models_KP)
        whole = None
        if in_memory is not None and here.clients and here.single and self._timeout is None and has_cohort_form(task):
            whole = self._backend.whole_cohort(task, here.clients, models_KP, sent, key)
        if whole is None:
            fields, reasons = self._one_by_one(task, here, models_KP, sent, key)
        else:
            fields, reasons = self._judged(task, whole, here, models_KP)
        good = np.array([i for i in range(len(here)) if i not in reasons], int) if reasons else np.arange(len(here))
        bad = (*here.gone, *(Failure(here.clients[i], reasons[i]) for i in sorted(reasons)))
        self._backend.keep(good.tolist())
        self._count(task, len(here), len(good), models_KP, here.sizes_N)
        self._log(task, bad)
        cohort = tuple(here.clients[i] for i in good) if reasons else here.clients
        return Answers(cohort, fields["choice"] if "choice" in fields else sent[good], fields, bad, models_KP)

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
        check_declaration(task, chained=True)
        models_KP = self._fitting(task, models_KP)
        dims = self._dims(task, models_KP)
        chains: list[Chain] = []
        absent: list[Failure] = []
        for group, k in zip(groups, which_M, strict=True):
            announced = list(zip(group, self.clients.sizes(group), strict=True))
            sizes = {c: size for c, size in announced if size}
            absent += [Failure(c, NOT_THERE) for c, size in announced if size is None]
            names = tuple(c for c in group if c in sizes)
            chains.append(Chain(task, names, int(k), key, dims, sizes, sum(sizes.values()), self._timeout))
        answers, bad, accepted = [], list(absent), []
        for number, (chain, out) in enumerate(zip(chains, self._run(chains, models_KP), strict=True)):
            bad += out.failed
            if out.answer is not None:
                answers.append(out.answer)
                accepted.append(number)
            elif not chain.clients:
                self._ledger.events.append({"kind": "empty group", "task": task.name, "group": number})
        self._backend.keep(accepted)
        hops = np.array([chain.sizes[c] for chain in chains for c in chain.clients], int)
        self._count(task, len(hops), len(hops) - len(bad) + len(absent), models_KP, hops)
        self._log(task, bad)
        self.enough(task.name, len(accepted), len(groups), bad)
        starts_M = np.asarray(which_M, np.int64)[np.array(accepted, int)]
        names = tuple(map(str, accepted))
        return Answers(names, starts_M, self._stack(task, answers, models_KP), tuple(bad), models_KP)

    def enough(
        self, what: str, came: int, asked: int, failed: Sequence[Failure], min_answers: int | None = None
    ) -> None:
        """An error, with which the round changes nothing, if too few did something.

        Args:
            what: They were asked for: the name of a task, or of several questions.
            came: How many did.
            asked: How many were asked; nobody waits for more.
            failed: Who did not; why the first of them did not is told.
            min_answers: How many must; None: as many as the run asks for.
        """
        needed = min(self._min_answers if min_answers is None else min_answers, max(asked, 1))
        if came < needed:
            why = f"; {failed[0].client!r}: {failed[0].reason}" if failed else ""
            raise TooFewAnswers(f"{came} of {asked} answered {what!r}, at least {needed} must{why}", came)

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

    def _forget(self) -> None:
        """Another federation: what was worked out for cohorts of the last one is of no use any more."""
        self._here: dict[Hashable, Present] = {}
        self._asked: dict[Hashable, Asked] = {}
        self._pools: dict[Hashable, Pool] = {}

    def _present(self, cohort: Cohort, sent: Array) -> Present:
        """The clients that are there; as worked out before if the cohort was asked before."""
        here = self._here.get(cohort) or Present.of(self.clients, cohort, sent)
        return remember(self._here, cohort, lambda: here) if here.single else here

    def _pool(self, federation: Federation, split: str, here: Present, which_N: Array) -> Pool:
        """The clients that are there, laid out for work in bulk; as the last time if nothing has changed."""

        def make() -> Pool:
            mark = (split, here.clients)
            return lay_out(remember(self._asked, mark, lambda: Asked.of(federation, *mark)), which_N)

        return remember(self._pools, (split, here.clients, which_N.tobytes()), make)

    def _one_by_one(
        self, task: Task, here: Present, models_KP: Array | None, which_N: Array, key: Key
    ) -> tuple[dict[str, Array], dict[int, str]]:
        """Every client is a unit: answers that can be used, stacked, and by row why the others cannot."""
        asked = list(zip(here.clients, which_N.tolist(), here.sizes_N.tolist(), strict=True))
        units = [OneClient(task, client, k, key.of(client), size, self._timeout) for client, k, size in asked]
        dims, reasons, events = self._dims(task, models_KP), dict[int, str](), dict[int, Any]()
        rows = self._room(task, len(units), models_KP)
        for i, out in self._backend.run(units, models_KP):  # each is let go of when it is written down
            events[i] = out.events
            if out.answer is None:
                reasons[i] = out.failed[0].reason
            elif reason := check(out.answer, task.fields, dims, self.layout.dtype, asked[i][2]):
                reasons[i] = reason
            else:
                for name, found in rows.items():
                    found[i] = out.answer[name]
        self._ledger.events += [dict(event) for i in range(len(units)) for event in events[i]]
        good = [i for i in range(len(units)) if i not in reasons]
        for found in rows.values() if reasons else ():
            for to, i in enumerate(good):  # in place: there may be no room for all of them twice
                found[to] = found[i]
        return {name: found[: len(good)] for name, found in rows.items()}, reasons

    def _judged(
        self, task: Task, whole: CohortAnswers, here: Present, models_KP: Array | None
    ) -> tuple[dict[str, Array], dict[int, str]]:
        """The same of answers that are stacked already."""
        if whole.failed is not None:
            return self._room(task, 0, models_KP), dict.fromkeys(range(len(here)), whole.failed)
        reasons = check_all(whole.fields, task.fields, self._dims(task, models_KP), self.layout.dtype, here.sizes_N)
        if len(reasons) == len(here):
            return self._room(task, 0, models_KP), reasons
        good = [i for i in range(len(here)) if i not in reasons]
        return {name: rows[good] if reasons else rows for name, rows in whole.fields.items()}, reasons

    def _run(self, units: Sequence[Unit], models_KP: Array | None) -> list[Outcome]:
        outcomes: dict[int, Outcome] = dict(self._backend.run(units, models_KP))
        for i in range(len(units)):
            self._ledger.events += [dict(event) for event in outcomes[i].events]
        return [outcomes[i] for i in range(len(units))]

    def _dims(self, task: Task, models_KP: Array | None) -> Mapping[str, int]:
        return shape_letters(task, self.layout, 0 if models_KP is None else len(models_KP))

    def _room(self, task: Task, count: int, models_KP: Array | None) -> dict[str, Array]:
        """Room for so many answers, by field."""
        dims, kind = self._dims(task, models_KP), self.layout.dtype
        return {name: np.empty((count, *extents(f, dims)), stored_as(f, kind)) for name, f in task.fields.items()}

    def _stack(self, task: Task, answers: Sequence[Mapping[str, Any]], models_KP: Array | None) -> dict[str, Array]:
        fields = self._room(task, len(answers), models_KP)
        for name, rows in fields.items():
            for i, answer in enumerate(answers):
                rows[i] = answer[name]
        return fields

    def _count(self, task: Task, asked: int, came: int, models_KP: Array | None, sizes_N: Array = NOBODY) -> None:
        """Vectors sent to those asked and back from those who answered; the bytes of all fields, as they are; what
        clients of these sizes worked.
        """
        dims, fields = self._dims(task, models_KP), task.fields.values()
        sent = {"one": 1, "all": dims["K"], "none": 0}[task.models] if models_KP is not None else 0
        extra = min(task.uncounted, sent)
        back = sum(prod(extents(f, dims)) // dims["P"] for f in fields if "P" in f.shape)
        size = sum(stored_as(f, self.layout.dtype).itemsize * prod(extents(f, dims)) for f in fields)
        count = Count(asked * sent, came * back, asked * sent * self.layout.bytes, came * size)
        count.uncounted = asked * extra
        for size, times in Counter(sizes_N.tolist()).items():
            forward, backward = task.work(size, dims["K"])
            count.forward, count.backward = count.forward + times * forward, count.backward + times * backward
        self._ledger.add(task, count)

    def _log(self, task: Task, bad: Sequence[Failure]) -> None:
        for f in bad:
            self._ledger.events.append({"kind": "left out", "client": f.client, "task": task.name, "reason": f.reason})
