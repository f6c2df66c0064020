"""What algorithms call: asks clients through a back end, judges every answer, counts what travels, keeps memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.data.federation import Federation, Source
from shoal.engines.bulk import Pool, in_bulk, lay_out
from shoal.engines.memory import Library
from shoal.engines.unit import Backend, Chain, OneClient, Outcome, Unit
from shoal.engines.validate import check
from shoal.errors import BadInput, TooFewAnswers
from shoal.layout import Layout
from shoal.net import PLAIN, Arithmetic
from shoal.seeds import Key
from shoal.types import Answers, Array, Cohort, Failure, Memory, Roster, Task

POOLS = 4  # cohorts laid out for work in bulk that are kept for the next round


@dataclass
class Count:
    """What one kind of task cost in a round: vectors and bytes down and up, samples through models on clients."""

    down: int = 0
    up: int = 0
    bytes_down: int = 0
    bytes_up: int = 0
    forward: int = 0
    backward: int = 0
    uncounted: int = 0  # of the vectors down, those that the papers do not count

    def add(self, other: Count) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Ledger:
    """What happened since the ledger was last taken: counts by task, and clients left out with the reason."""

    counts: dict[str, Count] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)


class Front:
    """An engine: `map` and `chain` over any back end."""

    def __init__(
        self,
        backend: Backend,
        layout: Layout,
        *,
        min_answers: int = 1,
        timeout: float | None = None,
        how: Arithmetic = PLAIN,
    ) -> None:
        if min_answers < 0 or (timeout is not None and timeout <= 0):
            raise BadInput("min_answers must be at least 0 and timeout, if given, above 0")
        self.layout = layout
        self.memories: dict[str, Memory] = {}
        self.library = Library(np.zeros((0, layout.size), layout.dtype))
        self._told = 0  # vectors of the library that the back end knows
        self._backend, self._least, self._timeout = backend, min_answers, timeout
        self._pending: dict[str, Memory] = {}
        self._ledger = Ledger()
        self._federation: Source | None = None
        self._pools: dict[tuple[str, Cohort, bytes], tuple[Pool, tuple[Failure, ...]]] = {}
        backend.open(layout, how)

    @property
    def clients(self) -> Roster:
        assert self._federation is not None
        return self._federation.roster

    def use(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        if federation is not self._federation:
            self._federation = federation
            self._pools = {}
            self._backend.use(federation)

    def map(
        self,
        task: Task,
        cohort: Cohort,
        models_KP: Array | None,
        which_N: Array | None,
        key: Key,
        least: int | None = None,
    ) -> Answers:
        """Every client of the cohort does the task; `which_N` says which model each is sent.

        `least=0` is for work that a round can do without, such as that of newcomers.
        """
        got = self.ask(task, cohort, models_KP, which_N, key)
        self._enough(task, len(got), len(got) + len(got.failed), least)
        return got

    def ask(self, task: Task, cohort: Cohort, models_KP: Array | None, which_N: Array | None, key: Key) -> Answers:
        """`map` without a minimum: what the run itself uses for evaluation."""
        assert self._federation is not None
        sent = np.full(len(cohort), -1) if which_N is None else np.asarray(which_N)
        models_KP = None if models_KP is None else np.ascontiguousarray(models_KP)
        if hasattr(task, "tally") and isinstance(self._federation, Federation) and models_KP is not None:
            pool, failed = self._pool(self._federation, task, cohort, sent)
            stacked = in_bulk(task, pool, self._backend, models_KP, self.layout.classes)
            self._count(task, len(pool.cohort), len(pool.cohort), models_KP)
            return Answers(pool.cohort, pool.which_N, stacked, failed, models_KP)
        known, failed = self._present(cohort, sent)
        sizes = self.clients.sizes([client for client, _ in known])
        units = [
            OneClient(task, client, k, self._memory(client), key.of(client), size or 0, self._timeout)
            for (client, k), size in zip(known, sizes, strict=True)
        ]
        good, bad = [], list(failed)
        for (client, k), size, out in zip(known, sizes, self._run(units, models_KP), strict=True):
            reason = None if out.answer is None else self._check(task, out.answer, models_KP, size or 0)
            if out.answer is None or reason:
                bad += out.failed or (Failure(client, str(reason)),)
            else:
                good.append((client, k, out.answer))
                self._keep(out, models_KP)
        self._count(task, len(known), len(known) - len(bad) + len(failed), models_KP, [c for c, _ in known])
        self._log(task, bad)
        return self._stack(task, good, bad, models_KP)

    def chain(self, task: Task, groups: Sequence[Cohort], models_KP: Array, which_M: Array, key: Key) -> Answers:
        """In each group clients work one after the other; one row per group, named by its number."""
        models_KP = np.ascontiguousarray(models_KP)
        dims = self._dims(models_KP)
        units: list[Unit] = []
        absent: list[Failure] = []
        for group, k in zip(groups, which_M, strict=True):
            known, missing = self._present(group, np.full(len(group), k), ordered=False)
            absent += missing
            names = tuple(c for c, _ in known)
            sizes = {c: self.clients.size(c) for c in names}
            memories = {c: self._memory(c) for c in names}
            units.append(Chain(task, names, int(k), memories, key, dims, sizes, sum(sizes.values()), self._timeout))
        good, bad = [], list(absent)
        for number, (unit, out) in enumerate(zip(units, self._run(units, models_KP), strict=True)):
            bad += out.failed
            if out.answer is not None:
                good.append((str(number), int(which_M[number]), out.answer))
                self._keep(out, models_KP)
            elif isinstance(unit, Chain) and not unit.clients:
                self._ledger.events.append({"kind": "empty group", "task": task.name, "group": number})
        hops = [c for unit in units if isinstance(unit, Chain) for c in unit.clients]
        self._count(task, len(hops), len(hops) - len(bad) + len(absent), models_KP, hops)
        self._log(task, bad)
        self._enough(task, len(good), len(groups))
        return self._stack(task, good, bad, models_KP)

    def commit(self) -> None:
        """What clients kept in this round is kept."""
        if self._pending:
            self.memories = {**self.memories, **self._pending}
            self._pending = {}

    def rollback(self) -> None:
        """The round did not happen: what clients kept in it is forgotten."""
        self._pending = {}

    def restore(self, memories: Mapping[str, Memory], library_VP: Array) -> None:
        """Clients remember what they did when this was saved."""
        self.memories, self._pending = dict(memories), {}
        self.library, self._told = Library(library_VP), 0

    def take(self) -> Ledger:
        """The ledger since the last call."""
        ledger, self._ledger = self._ledger, Ledger()
        return ledger

    def close(self) -> None:
        self._backend.close()

    def _memory(self, client: str) -> Memory:
        return self._pending.get(client, self.memories.get(client, {}))

    def _present(
        self, cohort: Cohort, sent: Array, ordered: bool = True
    ) -> tuple[list[tuple[str, int]], tuple[Failure, ...]]:
        """The clients that are there, with their model; in canonical order. Who has no samples is left out quietly."""
        triples = list(zip(cohort, sent.tolist(), self.clients.sizes(cohort), strict=True))
        known = [(c, k) for c, k, size in triples if size is not None and size > 0]
        gone = tuple(Failure(c, "not in the federation this round") for c, _, size in triples if size is None)
        return (sorted(known) if ordered else known), gone

    def _pool(self, federation: Federation, task: Any, cohort: Cohort, sent: Array) -> tuple[Pool, tuple[Failure, ...]]:
        """The clients that are there, laid out for work in bulk; from the last round if nothing has changed."""
        mark = (task.split, cohort, sent.tobytes())
        if mark not in self._pools:
            if len(self._pools) >= POOLS:
                self._pools.pop(next(iter(self._pools)))
            known, failed = self._present(cohort, sent)
            self._pools[mark] = lay_out(federation, task.split, known), failed
        return self._pools[mark]

    def _keep(self, out: Outcome, models_KP: Array | None) -> None:
        for client, memory in out.memories.items():
            self._pending[client] = self.library.file(memory, models_KP)

    def _run(self, units: Sequence[Unit], models_KP: Array | None) -> list[Outcome]:
        if len(self.library.rows_VP) != self._told:
            self._told = len(self.library.rows_VP)
            self._backend.know(self.library.rows_VP)
        outcomes: dict[int, Outcome] = dict(self._backend.run(units, models_KP))
        return [outcomes[i] for i in range(len(units))]

    def _dims(self, models_KP: Array | None) -> Mapping[str, int]:
        return {"P": self.layout.size, "K": 0 if models_KP is None else len(models_KP), "C": self.layout.classes}

    def _check(self, task: Task, answer: Mapping[str, Any], models_KP: Array | None, announced: int) -> str | None:
        return check(answer, task.fields, self._dims(models_KP), self.layout.dtype, announced)

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
        extra = min(getattr(task, "uncounted", 0), sent)
        back = sum(f.shape == ("P",) for f in task.fields.values())
        small = sum(8 * int(np.prod([dims[s] for s in f.shape])) for f in task.fields.values() if f.shape != ("P",))
        count = Count(
            asked * sent, came * back, asked * sent * self.layout.bytes, came * (back * self.layout.bytes + small)
        )
        count.uncounted = asked * extra
        for client in workers:
            forward, backward = task.work(self.clients.size(client), dims["K"])
            count.forward, count.backward = count.forward + forward, count.backward + backward
        self._ledger.counts.setdefault(task.name, Count()).add(count)

    def _log(self, task: Task, bad: Sequence[Failure]) -> None:
        for f in bad:
            self._ledger.events.append({"kind": "left out", "client": f.client, "task": task.name, "reason": f.reason})

    def _enough(self, task: Task, came: int, asked: int, least: int | None = None) -> None:
        least = min(self._least if least is None else least, max(asked, 1))
        if came < least:
            events = [e for e in self._ledger.events if e.get("task") == task.name and "client" in e]
            why = f"; {events[0]['client']!r}: {events[0]['reason']}" if events else ""
            raise TooFewAnswers(f"{came} of {asked} answered {task.name!r}, at least {least} must{why}", came)
