"""Units of work: one client, a chain of clients, a slice of samples."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.backends.backend import Outcome, Unit, failed
from shoal.backends.memory import recall, refer
from shoal.backends.site import Site
from shoal.data.samples import View
from shoal.seeds import Key
from shoal.types import Array, Bulk, Failure, Memory, Task
from shoal.validate import Dims, check, not_an_answer


@dataclass(frozen=True)
class OneClient:
    """One client does one task.

    Args:
        task: What to do.
        client: Who does it.
        which: The model it is sent; -1: all of them, or none.
        key: Its randomness.
        cost: Its training samples.
        timeout: Seconds that it may take.
    """

    task: Task
    client: str
    which: int
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

    def __call__(self, site: Site, models_KP: Array | None, memories: Mapping[str, Memory]) -> Outcome:
        models = None if models_KP is None else models_KP if self.which < 0 else models_KP[self.which]
        memory = memories.get(self.client, {})
        return attempt(self.task, site, self.client, models, memory, self.key, self.timeout, models_KP)


@dataclass(frozen=True)
class Chain:
    """Clients do a task one after the other, each from where the one before it ended; a failing one is skipped.

    Args:
        task: What to do.
        clients: Who does it, in order.
        which: The model at which the first one begins.
        key: Their randomness.
        dims: What the letters of shapes stand for.
        sizes: Training samples of each.
        cost: Of all together.
        timeout: Seconds that each may take.
    """

    task: Task
    clients: tuple[str, ...]
    which: int
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

    def __call__(self, site: Site, models_KP: Array | None, memories: Mapping[str, Memory]) -> Outcome:
        assert models_KP is not None
        hops = self.hops(models_KP[self.which])
        try:
            client, now_P = next(hops)
            while True:
                memory, key = memories.get(client, {}), self.key.of(client)
                out = attempt(self.task, site, client, now_P, memory, key, self.timeout, models_KP)
                client, now_P = hops.send(out)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def hops(self, start_P: Array) -> Generator[tuple[str, Array], Outcome, Outcome]:
        """The chain, whoever runs it: tells whose turn it is and from which model, and is sent what that one left.

        Args:
            start_P: Where the first one begins.

        Yields:
            A client and its model.

        Returns:
            What the chain leaves.
        """
        now_P, came, count, loss = start_P, 0, 0, 0.0
        keep: dict[str, Memory] = {}
        failed: list[Failure] = []
        events: list[Mapping[str, Any]] = []
        for client in self.clients:
            out = yield client, now_P
            events += out.events
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
            last = out.answer
        if not count:
            return Outcome(None, {}, tuple(failed), tuple(events))
        update_P = update_P if came == 1 else now_P - start_P  # of a single client: its own, unrounded
        answer = {
            **last,
            "update": update_P,
            "count": count,
            "loss": loss / count,
        }  # other fields: as the last one says
        return Outcome(answer, keep, tuple(failed), tuple(events))


@dataclass(frozen=True)
class Slice:
    """A slice of samples through one model, for tasks that can serve many clients at once.

    Args:
        task: What sends them through.
        index: Places of the samples.
        view: How the clients see them.
        which: The model.
    """

    task: Bulk
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

    def __call__(self, site: Site, models_KP: Array | None, memories: Mapping[str, Memory]) -> Outcome:
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
        known = recall(memory, site.vectors_VP)
        answer, keep = task(site.net, models, site.federation.client(client), known, key)
    except (Exception, SystemExit) as e:
        return Outcome(None, {}, (Failure(client, explain(e)),))
    if not isinstance(answer, Mapping):
        return Outcome(None, {}, (Failure(client, not_an_answer(answer)),))
    took = site.clock() - began
    if timeout is not None and took > timeout:
        return Outcome(None, {}, (Failure(client, f"late: {took:.1f} s, the limit is {timeout:g} s"),))
    return Outcome(answer, {client: refer(keep, sent_KP, site.vectors_VP)} if keep is not known else {})


def explain(e: BaseException) -> str:
    """An exception in one line, with the place it came from."""
    frames = traceback.extract_tb(e.__traceback__)
    at = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(e).split()) or "no message"
    return f"failed: {type(e).__name__}: {text[:300]}{at}"


def cut(index: Array, size: int) -> list[Array]:
    """Consecutive pieces of at most `size`.

    >>> import numpy as np
    >>> [piece.tolist() for piece in cut(np.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    return [index[i : i + size] for i in range(0, len(index), size)]


def safely(unit: Unit, site: Site, models_KP: Array | None, memories: Mapping[str, Memory]) -> Outcome:
    """Run a unit; what it raises becomes a reason."""
    try:
        return unit(site, models_KP, memories)
    except (Exception, SystemExit) as e:
        return failed(unit, explain(e))
