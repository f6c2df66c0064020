"""Several runs side by side: more runs an hour than one run on all cores gives, as few methods fill many cores."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

from shoal.backends import Backend
from shoal.errors import ShoalError
from shoal.recipes.runs.single import Ended, Job, play_one
from shoal.setup.prepare import open_backend

__all__ = ["Team"]


@dataclass(frozen=True)
class Team:
    """Processes that play runs, each on a back end of its own. Numbers do not depend on how many there are.

    Args:
        size: How many.
        engine: Of each.
        workers: Of each engine; one: as many cores are used as there are processes.

    >>> Team(4).workers
    1
    """

    size: int
    engine: str = "local"
    workers: int | None = 1

    def play(
        self,
        todo: Sequence[Job],
        work: Path,
        take: Callable[[Ended], None],
        left: Callable[[], float | None],
        again: bool = False,
    ) -> None:
        """Play runs until all have ended or the time is over; then, or on Ctrl-C, those that are on end after a round.

        Args:
            todo: The runs, in the order in which they are begun.
            work: Where runs lie while they are not complete.
            take: Called with every run that has ended.
            left: How many seconds there are; None: as many as it takes.
            again: As for `play_one`.
        """
        with self._processes() as (pool, over):
            with undisturbed():
                waiting = {pool.submit(play_here, job, work, again) for job in todo}
            try:
                while waiting:
                    done, waiting = wait(waiting, left(), FIRST_COMPLETED)
                    if not done:
                        return
                    for future in done:
                        if ended := future.result():
                            take(ended)
            except BrokenProcessPool as e:
                raise ShoalError(
                    "a process that played a run has ended unexpectedly, maybe for want of memory; complete runs are "
                    "kept: say the same again with a smaller jobs="
                ) from e
            finally:
                over.set()  # nothing is cancelled: a pool that breaks meanwhile would stumble over that
                for future in wait(waiting).done:
                    if future.exception() is None and (ended := future.result()):
                        take(ended)

    @contextmanager
    def _processes(self) -> Iterator[tuple[ProcessPoolExecutor, Event]]:
        """The processes, and what tells them that it is over."""
        fresh = get_context("spawn")  # threads of torch do not survive a fork
        over = fresh.Event()
        with ProcessPoolExecutor(self.size, fresh, begin, (self.engine, self.workers, over)) as pool:
            yield pool, over


HERE: list[tuple[Backend, Event]] = []  # of a process of a team: its back end, which ends with it


@contextmanager
def undisturbed() -> Iterator[None]:
    """Processes that are begun here never hear Ctrl-C, not even while they import; it is for who commands them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin(engine: str, workers: int | None, over: Event) -> None:
    """What a process of a team does first."""
    HERE.append((open_backend(engine, workers).__enter__(), over))


def play_here(job: Job, work: Path, again: bool) -> Ended | None:
    """Play a run in a process of a team; None: it is over before it began."""
    backend, over = HERE[0]
    if over.is_set():
        return None
    return play_one(job, work, backend, again=again, is_over=over.is_set)
