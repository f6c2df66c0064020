"""Units of work: what a back end runs, in this process or in another. A unit knows nothing of workers or order."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shoal.data.federation import Federation, Source
from shoal.data.samples import View
from shoal.engines.memory import recall, refer
from shoal.engines.validate import Dims, check, not_an_answer
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.types import Array, Failure, Memory, Task

Clock = Callable[[], float]
SHELF = 64 << 20  # bytes of inputs that a process keeps ready for the next test


@dataclass
class Site:
    """Where clients live during a simulation: one per process."""

    net: Net
    federation: Source
    clock: Clock = time.monotonic
    library_VP: Array | None = None  # vectors that clients keep
    shelf: dict[tuple[Any, ...], Array] = field(default_factory=dict)  # inputs of tests, made ready once

    def inputs(self, index: Array, view: View) -> Array:
        """Samples as inputs of a model; the same ones are made once, while there is room to keep them."""
        assert isinstance(self.federation, Federation)
        mark = (self.federation.x.ctypes.data, view.turns, index.tobytes())
        found = self.shelf.get(mark)
        if found is None:
            found = self.federation.look(index, view)
            if sum(x.nbytes for x in self.shelf.values()) + found.nbytes <= SHELF:
                self.shelf[mark] = found
        return found


@dataclass(frozen=True)
class Outcome:
    """What a unit leaves: an answer or none, what clients want to keep, and who failed."""

    answer: Mapping[str, Any] | None
    memories: Mapping[str, Memory] = field(default_factory=dict)
    failed: tuple[Failure, ...] = ()


class Unit(Protocol):
    """A piece of work: who is at it, what it costs next to others, how long it may take in all, which tasks it does."""

    @property
    def cost(self) -> int: ...

    @property
    def who(self) -> tuple[str, ...]: ...

    @property
    def limit(self) -> float | None: ...

    @property
    def tasks(self) -> tuple[Any, ...]: ...

    def __call__(self, site: Site, models_KP: Array | None) -> Outcome: ...


class Backend(Protocol):
    """Runs units. Nothing else tells one engine from another."""

    def open(self, layout: Layout, how: Arithmetic) -> None: ...

    def use(self, federation: Source) -> None: ...

    def know(self, library_VP: Array) -> None: ...

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class OneClient:
    """One client does one task."""

    task: Task
    client: str
    which: int  # the model it is sent; -1: all of them, or none
    memory: Memory
    key: Key
    cost: int
    timeout: float | None = None

    @property
    def who(self) -> tuple[str, ...]:
        return (self.client,)

    @property
    def limit(self) -> float | None:
        return self.timeout

    @property
    def tasks(self) -> tuple[Any, ...]:
        return (self.task,)

    def __call__(self, site: Site, models_KP: Array | None) -> Outcome:
        models = None if models_KP is None else models_KP if self.which < 0 else models_KP[self.which]
        return attempt(self.task, site, self.client, models, self.memory, self.key, self.timeout, models_KP)


@dataclass(frozen=True)
class Chain:
    """Clients do a task one after the other, each from where the one before it ended; a failing one is skipped."""

    task: Task
    clients: tuple[str, ...]
    which: int
    memories: Mapping[str, Memory]
    key: Key
    dims: Dims
    sizes: Mapping[str, int]
    cost: int
    timeout: float | None = None

    @property
    def who(self) -> tuple[str, ...]:
        return self.clients

    @property
    def limit(self) -> float | None:
        return None if self.timeout is None else self.timeout * len(self.clients)

    @property
    def tasks(self) -> tuple[Any, ...]:
        return (self.task,)

    def __call__(self, site: Site, models_KP: Array | None) -> Outcome:
        assert models_KP is not None
        start_P = models_KP[self.which]
        now_P, came, count, loss = start_P, 0, 0, 0.0
        keep: dict[str, Memory] = {}
        failed: list[Failure] = []
        for client in self.clients:
            memory = self.memories.get(client, {})
            out = attempt(self.task, site, client, now_P, memory, self.key.of(client), self.timeout, models_KP)
            if out.answer is None:
                failed += out.failed
                continue
            reason = check(out.answer, self.task.fields, self.dims, start_P.dtype, self.sizes[client])
            if reason:
                failed.append(Failure(client, reason))
                continue
            update_P, came = out.answer["update"], came + 1
            now_P = now_P + update_P
            count, loss = count + int(out.answer["count"]), loss + int(out.answer["count"]) * float(out.answer["loss"])
            keep.update(out.memories)
        if not count:
            return Outcome(None, {}, tuple(failed))
        update_P = update_P if came == 1 else now_P - start_P  # of a single client: its own, unrounded
        return Outcome({"update": update_P, "count": count, "loss": loss / count}, keep, tuple(failed))


@dataclass(frozen=True)
class Slice:
    """A slice of samples through one model, for tasks that can serve many clients at once."""

    task: Any
    index: Array
    view: View
    which: int
    limit: float | None = None

    @property
    def cost(self) -> int:
        return len(self.index)

    @property
    def who(self) -> tuple[str, ...]:
        return (f"{len(self.index)} samples",)

    @property
    def tasks(self) -> tuple[Any, ...]:
        return (self.task,)

    def __call__(self, site: Site, models_KP: Array | None) -> Outcome:
        assert models_KP is not None
        site.net.load(models_KP[self.which])
        return Outcome({"rows": self.task.forward(site.net, site.inputs(self.index, self.view))})


def attempt(
    task: Task,
    site: Site,
    client: str,
    models: Array | None,
    memory: Memory,
    key: Key,
    timeout: float | None,
    sent_KP: Array | None,
) -> Outcome:
    """One task on one client: what it raises and what comes too late become a reason."""
    began = site.clock()
    try:
        known = recall(memory, site.library_VP)
        answer, keep = task(site.net, models, site.federation.client(client), known, key)
    except (Exception, SystemExit) as e:
        return Outcome(None, {}, (Failure(client, explain(e)),))
    if not isinstance(answer, Mapping):
        return Outcome(None, {}, (Failure(client, not_an_answer(answer)),))
    took = site.clock() - began
    if timeout is not None and took > timeout:
        return Outcome(None, {}, (Failure(client, f"late: {took:.1f} s, the limit is {timeout:g} s"),))
    return Outcome(answer, {client: refer(keep, sent_KP, site.library_VP)} if keep is not known else {})


def explain(e: BaseException) -> str:
    """An exception in one line, with the place it came from."""
    frames = traceback.extract_tb(e.__traceback__)
    at = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(e).split()) or "no message"
    return f"failed: {type(e).__name__}: {text[:300]}{at}"


def cut(index: Array, size: int) -> list[Array]:
    """Consecutive pieces of at most `size`."""
    return [index[i : i + size] for i in range(0, len(index), size)]


def safely(unit: Unit, site: Site, models_KP: Array | None) -> Outcome:
    """Run a unit; what it raises becomes a reason."""
    try:
        return unit(site, models_KP)
    except (Exception, SystemExit) as e:
        return failed(unit, explain(e))


def failed(unit: Unit, reason: str) -> Outcome:
    """Nobody of the unit answered."""
    return Outcome(None, {}, tuple(Failure(client, reason) for client in unit.who))
