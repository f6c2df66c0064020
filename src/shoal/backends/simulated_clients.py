"""The clients of a simulation: what they keep, and what they do all together in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.backends.at_once import AtOnce
from shoal.backends.backend import Outcome, Unit, failed
from shoal.backends.cohort import KernelData
from shoal.backends.memory import Library, Memories, refer
from shoal.backends.site import one_thread
from shoal.backends.unit import explain
from shoal.data.federation import Source
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.types import Array, Cohort, CohortAnswers, Memory, Ref, Task, expect


class SimulatedClients:
    """What the clients of a simulation keep: the verbs of client memory that simulated back ends share.

    A client's memory is attached to its unit when that runs; what it wants to keep waits here until the engine says
    which answers counted, and then until the round counts.
    """

    holds_data = True

    _net: Net | None = None  # that of this process; None: everything is done elsewhere
    _source: Source | None = None
    _laid_out: tuple[Source, Net, KernelData | None] | None = None
    _threads = 1  # that the kernel may use for a whole cohort

    def forget(self, layout: Layout) -> None:
        """Nobody remembers anything; vectors are those of this layout."""
        self._layout = layout
        self._library = Library(np.zeros((0, layout.size), layout.dtype))
        self._kept = Memories()
        self._begin(None)

    def keep(self, numbers: Sequence[int]) -> None:
        """What the clients of these units of the last run want to keep is kept until the round ends."""
        for number in numbers if self._offered else ():
            for client, memory in self._offered.get(number, {}).items():
                self._kept.pending[client] = self._library.file(memory, self._sent_KP, self._filed)

    def whole_cohort(
        self, task: Task, cohort: Cohort, models_KP: Array | None, which_N: Array, key: Key
    ) -> CohortAnswers | None:
        """All clients do the task in one call, where the kernel can; the next `keep` means rows of these answers."""
        at_once = self._at_once(models_KP)
        if at_once is None:
            return None
        self._begin(models_KP)
        try:
            with one_thread():
                answers = at_once.cohort(task, cohort, which_N, key)
        except MemoryError:  # one by one those have a chance for whom there is room
            return None
        except (Exception, SystemExit) as e:
            return CohortAnswers({}, failed=explain(e))
        if answers is not None and answers.memories:
            row = {client: i for i, client in enumerate(cohort)}
            for client, memory in answers.memories.items():
                self._offered[row[client]] = {client: refer(memory, models_KP, at_once.vectors_VP)}
        return answers

    def chains_at_once(self, units: Sequence[Unit], models_KP: Array | None) -> list[Outcome] | None:
        """Chains that do the same task, all in one call, where the kernel can; None: run them as units."""
        at_once = self._at_once(models_KP)
        try:
            with one_thread():
                return None if at_once is None else at_once.chains(units)
        except MemoryError:  # one by one those have a chance for whom there is room
            return None
        except (Exception, SystemExit) as e:
            reason = explain(e)
            return [failed(unit, reason) for unit in units]

    def log_probabilities(self, pieces: Sequence[tuple[int, Array, float]], models_KP: Array) -> list[Array] | None:
        """What models say of samples, in one call, where the kernel can."""
        data = self._kernel_data()
        if data is None or any(turns != int(turns) for _, _, turns in pieces):
            return None
        with one_thread():
            found = [(models_KP[k], index, int(turns)) for k, index, turns in pieces]
            return data.log_probabilities(found, self._threads)

    def commit(self) -> None:
        """The round counts."""
        self._kept.commit()

    def rollback(self) -> None:
        """The round does not count."""
        self._kept.rollback()

    def snapshot(self) -> tuple[Mapping[str, Memory], Array]:
        """Committed memories by client, and the vectors at which they point."""
        return self._kept.committed, self._library.rows_VP

    def restore(self, memories: Mapping[str, Memory], vectors_VP: Array) -> None:
        """Clients remember what they did at a snapshot, if it is one of this layout."""
        expect(vectors_VP, "the vectors that clients keep", (None, self._layout.size), self._layout.dtype)
        for client, memory in memories.items():
            for name, ref in memory.items():
                if isinstance(ref, Ref) and not (ref.rows and min(ref.rows) >= 0 and max(ref.rows) < len(vectors_VP)):
                    rows = f"{', '.join(map(str, ref.rows)) or 'none'} as {name!r}"
                    raise BadInput(f"client {client!r} keeps the vectors {rows}; there are {len(vectors_VP)} of them")
        self.forget(self._layout)
        self._kept, self._library = Memories(memories), Library(np.ascontiguousarray(vectors_VP))

    def _begin(self, models_KP: Array | None) -> None:
        """A run begins: nothing is offered yet."""
        self._sent_KP = models_KP
        self._offered: dict[int, Mapping[str, Memory]] = {}
        self._filed: dict[int, int] = {}  # models of this run that clients keep: their numbers in the library

    def _at_once(self, models_KP: Array | None) -> AtOnce | None:
        """What is done in one call here; None if the kernel cannot."""
        data = self._kernel_data()
        return None if data is None else AtOnce(data, models_KP, self._kept.of, self._library.rows_VP, self._threads)

    def _kernel_data(self) -> KernelData | None:
        """The federation as the kernel reads it; None if it cannot."""
        if self._net is None or self._net.native is None or self._source is None:
            return None
        if self._laid_out is None or self._laid_out[0] is not self._source or self._laid_out[1] is not self._net:
            self._laid_out = self._source, self._net, KernelData.of(self._net, self._source.in_memory)
        return self._laid_out[2]

    def _memories(self, clients: Sequence[str]) -> dict[str, Memory]:
        """What these clients keep now; those that keep nothing are not in it."""
        return {c: memory for c in clients if (memory := self._kept.of(c))}

    def _offer(self, number: int, outcome: Outcome) -> tuple[int, Outcome]:
        """A unit is done; what its clients want to keep waits."""
        self._offered[number] = outcome.memories
        return number, outcome
