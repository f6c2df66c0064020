"""The back end of a real federation: units go to the sites that host their clients, as Flower messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.backends.backend import Outcome, Unit, failed
from shoal.backends.memory import Memories
from shoal.backends.unit import Chain, OneClient
from shoal.data.federation import Source
from shoal.errors import BadInput
from shoal.flower.messages import record_of, to_content
from shoal.flower.nodes import Nodes
from shoal.flower.records import LOST, Answered, Asked, pack, portable, printable
from shoal.flower.task_name import TaskName
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.types import Array, Cohort, CohortAnswers, Failure, Memory, Task

__all__ = ["Flower"]

Answer = tuple[int, Outcome]


class Flower:
    """Runs units at sites. What a client remembers is a file at its site; here is only which version counts.

    Args:
        nodes: The sites.
        run: The mark of the run; the same when it is resumed.
    """

    name = "flower"
    holds_data = False

    def __init__(self, nodes: Nodes, run: str) -> None:
        self._nodes, self._run = nodes, run
        self.saved: Mapping[int, Mapping[str, Memory]] = {}  # of a resumed run: memories at its checkpoints, by round
        self._rounds: dict[int, Mapping[str, Memory]] = {}  # rounds that a checkpoint may still lead back to

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins; clients remember nothing."""
        self._layout, self._arithmetic = layout, arithmetic
        self._kept = Memories()
        self._offered: dict[int, Mapping[str, Memory]] = {}
        self._last = (-1, 0)  # round and number of the last call

    def set_federation(self, federation: Source) -> None:
        """The sites know their data by themselves."""

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[Answer]:
        """Units of single clients go out together; of chains, the next hop of all of them."""
        self._offered = {}
        single = {i: unit for i, unit in enumerate(units) if isinstance(unit, OneClient)}
        chains = {i: unit for i, unit in enumerate(units) if isinstance(unit, Chain)}
        if len(single) + len(chains) < len(units):
            raise BadInput("a federation's sites run tasks of single clients and chains of them, nothing else")
        rows = [] if models_KP is None else list(models_KP)
        for number, outcome in (*self._ask(single, rows), *self._hop_by_hop(chains, rows)):
            self._offered[number] = outcome.memories
            yield number, outcome

    def whole_cohort(
        self, task: Task, cohort: Cohort, models_KP: Array | None, which_N: Array, key: Key
    ) -> CohortAnswers | None:
        """Nobody but a site has its data."""
        return None

    def log_probabilities(self, pieces: Sequence[tuple[int, Array, float]], models_KP: Array) -> list[Array] | None:
        """Nobody but a site has its data."""
        return None

    def keep(self, numbers: Sequence[int]) -> None:
        """The versions of these units of the last run count, if the round does."""
        for number in numbers:
            self._kept.pending |= self._offered.get(number, {})

    def commit(self) -> None:
        """The round counts."""
        self._kept.commit()

    def rollback(self) -> None:
        """The round does not count."""
        self._kept.rollback()

    def snapshot(self) -> tuple[Mapping[str, Memory], Array]:
        """Which version of its memory each client has."""
        return self._kept.committed, np.zeros((0, self._layout.size), self._layout.dtype)

    def restore(self, memories: Mapping[str, Memory], vectors_VP: Array) -> None:
        """Clients go on with the versions that they had at a snapshot."""
        self._kept = Memories(memories)
        self._rounds = dict(self.saved)

    def remember(self, round: int, oldest: int) -> None:
        """A round is over: sites keep what they had after it for as long as a checkpoint may lead back to it.

        Args:
            round: Its number.
            oldest: The round of the oldest checkpoint.
        """
        self._rounds[round] = self._kept.committed
        self._rounds = {t: memories for t, memories in self._rounds.items() if t >= oldest}

    def close(self) -> None:
        """Sites go on without us."""

    def _hop_by_hop(self, chains: Mapping[int, Chain], rows: Sequence[Array]) -> Iterator[Answer]:
        """Hop h of all chains is one batch of messages; every hop is judged before the next."""
        running = {i: chain.hops(rows[chain.which]) for i, chain in chains.items()}
        left: dict[int, Outcome | None] = dict.fromkeys(running)  # what the last hop of each left; None: none yet
        while running:
            hops: dict[int, OneClient] = {}
            starts: list[Array] = []
            for i, chain in list(running.items()):
                try:
                    out = left[i]
                    client, start_P = next(chain) if out is None else chain.send(out)
                except StopIteration as end:
                    del running[i]
                    yield i, end.value
                    continue
                c = chains[i]
                hops[i] = OneClient(c.task, client, len(starts), c.key.of(client), c.sizes[client], c.timeout)
                starts.append(start_P)
            left.update(self._ask(hops, starts))

    def _ask(self, units: Mapping[int, OneClient], rows: Sequence[Array]) -> Iterator[Answer]:
        """One call: a message to every site that hosts some of the clients, an outcome for every unit."""
        if not units:
            return
        stamp = self._stamp(max(self._nodes.round, next(iter(units.values())).key.round))
        records = [(row, record_of(row)) for row in rows]  # each model once, whoever is sent it
        here: dict[int, dict[int, OneClient]] = {}
        for i, unit in units.items():
            node = self._nodes.hosts.get(unit.client)
            if node is None:
                yield i, failed(unit, "its site is not connected")
            else:
                here.setdefault(node, {})[i] = unit
        contents = {node: self._content(tuple(mine.values()), records, stamp) for node, mine in here.items()}
        for node, answer in self._nodes.exchange(contents, stamp):
            outcomes = self._outcomes(node, answer, len(here[node]))
            for (i, unit), outcome in zip(here[node].items(), outcomes, strict=True):
                yield i, received(unit, outcome, stamp)

    def _content(self, units: tuple[OneClient, ...], records: Sequence[tuple[Array, Any]], stamp: str) -> Any:
        """What a site is sent: its clients' units, and of the models those that they need."""
        wanted = {unit.which for unit in units}
        sent = list(range(len(records))) if min(wanted) < 0 else sorted(wanted)
        place = {k: i for i, k in enumerate(sent)}
        who = {unit.client for unit in units}
        asked = Asked(
            run=self._run,
            stamp=stamp,
            model=portable(self._layout.factory),
            digest=self._layout.digest(),
            precision=self._layout.dtype.name,
            arithmetic=self._arithmetic,
            models=tuple(records[k][0] for k in sent),
            units=tuple(replace(unit, which=place.get(unit.which, -1)) for unit in units),
            memories={c: memory for c in sorted(who) if (memory := self._kept.of(c))},
            needed={c: self._needed(c) for c in sorted(who)},
            task=TaskName.of(self._layout.objective),
        )
        seen: dict[int, str] = {}
        copy = pack(asked, seen)
        return to_content(copy, {seen[id(records[k][0])]: records[k][1] for k in sent})

    def _outcomes(self, node: int, answer: Any, count: int) -> Sequence[Any]:
        """An outcome per unit, of whatever a site answered."""
        if isinstance(answer, str):
            return [answer] * count
        if not isinstance(answer, Answered) or not isinstance(answer.outcomes, tuple) or len(answer.outcomes) != count:
            return ["the site's answer does not fit what it was asked"] * count
        if isinstance(answer.sizes, dict):
            self._nodes.update(node, answer.sizes)
        return answer.outcomes

    def _stamp(self, round: int) -> str:
        """Round and number of a call: the same when a round is played again."""
        self._last = (round, self._last[1] + 1 if self._last[0] == round else 0)
        return f"{round}-{self._last[1]}"

    def _needed(self, client: str) -> tuple[str, ...]:
        """The versions of a client's memory that may still be asked for."""
        kept = (self._kept.pending, self._kept.committed, *self._rounds.values())
        return tuple(sorted({memories[client]["at"] for memories in kept if client in memories}))


def received(unit: OneClient, outcome: Any, stamp: str) -> Outcome:
    """An outcome that came from elsewhere, made sure of: about this client alone, and no more than outcomes hold."""
    if isinstance(outcome, str):
        return failed(unit, printable(outcome))
    if not isinstance(outcome, Outcome):
        return failed(unit, "the site's answer does not fit what it was asked")
    told = outcome.events if isinstance(outcome.events, tuple) else ()
    lost = any(isinstance(event, Mapping) and event.get("kind") == LOST for event in told)
    events = ({"kind": LOST, "client": unit.client},) if lost else ()
    if outcome.answer is None:
        why = [f.reason for f in outcome.failed if isinstance(f, Failure)] if isinstance(outcome.failed, tuple) else []
        return replace(failed(unit, printable(why[0]) if why else "no answer, and no reason"), events=events)
    keeps = isinstance(outcome.memories, Mapping) and unit.client in outcome.memories
    return Outcome(outcome.answer, {unit.client: {"at": stamp}} if keeps else {}, (), events)
