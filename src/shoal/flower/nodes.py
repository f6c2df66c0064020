"""The sites of a federation as the server sees them: who hosts whom, and how messages go there and come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from flwr.app import Message

from shoal.errors import BadInput, ShoalError
from shoal.flower.attendance import Attendance
from shoal.flower.federation import Sites
from shoal.flower.messages import CALL, HELLO, from_content, to_content
from shoal.flower.records import Hello, Site, pack, printable, unpack
from shoal.tree import Kind, Shape
from shoal.validate import MAX_COUNT

__all__ = ["Nodes"]

Event = Mapping[str, Any]
FORGOTTEN = 3  # Flower's code for a message that the SuperLink does not have, or has no more


class Nodes:
    """The nodes of a grid and the clients they host.

    Args:
        grid: Flower's.
        deadline: Seconds after which a message is not executed any more and nobody waits for its reply.
        poll: Seconds between two looks for replies.
        clock: Tells seconds.

    Who comes is greeted and is there when its answer has come, at the next round at the latest that begins after it.
    """

    def __init__(
        self, grid: Any, deadline: float = 600.0, poll: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._grid, self.deadline, self._poll, self._clock = grid, deadline, poll, clock
        self.hosts: dict[str, int] = {}  # client -> node
        self.sites: dict[int, Site] = {}
        self._greeted: dict[str, tuple[int, float]] = {}  # message -> node and when it was sent
        self._inputs: tuple[Shape, Kind] | None = None  # shape and dtype, by the first site
        self._classes, self._closed = 0, False
        self.attendance = Attendance()
        self.round = 0  # of the run, whatever round the randomness of a call belongs to

    def exchange(self, contents: Mapping[int, Any], group: str) -> Iterator[tuple[int, Any]]:
        """Send calls to nodes and collect what they answer, as it comes.

        Args:
            contents: What goes to each node.
            group: What Flower's log says it belongs to.

        Yields:
            A node, and its answer as a record, or the reason why there is none as text.
        """
        end = self._clock() + self.deadline  # before messages are made: Flower's time for them ends no earlier
        sent = [Message(content, node, CALL, ttl=self.deadline, group_id=group) for node, content in contents.items()]
        ids = list(self._grid.push_messages(sent)) or [None] * len(sent)
        waiting = {i: node for i, node in zip(ids, contents, strict=True) if i}
        yield from ((node, "the message could not be sent") for i, node in zip(ids, contents, strict=True) if not i)
        while waiting:
            for reply in self._grid.pull_messages(list(waiting)):
                if reply.has_error() and reply.error.code == FORGOTTEN and self._clock() >= end - 1:
                    continue  # its time is over: late, as below
                node = waiting.pop(reply.metadata.reply_to_message_id, None)
                if node is not None:
                    answer = said(reply)
                    if not isinstance(answer, str):
                        self.attendance.answered(node)
                    yield node, answer
            if waiting and self._clock() >= end:
                for node in waiting.values():
                    self.attendance.late(node)
                    yield node, f"late: no answer within {self.deadline:g} s"
                return
            if waiting:
                time.sleep(self._poll)
                if self.attendance.due():
                    self.attendance.look(set(self._grid.get_node_ids()), self.sites)

    def refresh(self) -> tuple[Event, ...]:
        """Look who is there: newcomers are greeted, who is gone is forgotten. Waits for nobody.

        Returns:
            Who came and who left.
        """
        before, events = set(self.hosts), list[Event]()
        online = set(self._grid.get_node_ids())
        for node in set(self.sites) - online:
            del self.sites[node]
        self.hosts = {client: node for client, node in self.hosts.items() if node in online}
        greeted = {node for node, _ in self._greeted.values()}
        new = sorted(online - set(self.sites) - greeted)
        self.attendance.look(online, self.sites)
        self.attendance.greet(new)
        if new:
            hello = to_content(pack(Hello()))
            ids = self._grid.push_messages([Message(hello, node, HELLO, ttl=self.deadline) for node in new])
            self._greeted |= {i: (node, self._clock()) for i, node in zip(ids, new, strict=False) if i}
        for reply in self._grid.pull_messages(list(self._greeted)) if self._greeted else ():
            greeting = self._greeted.pop(reply.metadata.reply_to_message_id, None)
            if greeting is not None:
                node, reason = greeting[0], self._admit(greeting[0], said(reply))
                events += [{"kind": "not admitted", "node": str(node), "reason": reason}] if reason else []
        self.attendance.save()
        late = self._clock() - self.deadline
        self._greeted = {i: (node, at) for i, (node, at) in self._greeted.items() if at > late and node in online}
        for kind, who in (("joined", set(self.hosts) - before), ("left", before - set(self.hosts))):
            events += [{"kind": kind, "clients": sorted(who)}] if who else []
        return tuple(events)

    def wait(self, sites: int, seconds: float) -> tuple[Event, ...]:
        """Wait until so many sites are there.

        Args:
            sites: How many.
            seconds: For how long at most.

        Returns:
            Who came and who left meanwhile.
        """
        end = self._clock() + seconds
        said: list[Event] = []
        while True:
            said += self.refresh()
            if len(self.sites) >= sites:
                return tuple(said)
            if self._clock() >= end:
                why = next((f"; one was not admitted: {e['reason']}" for e in said if "reason" in e), "")
                raise ShoalError(f"{len(self.sites)} of {sites} sites came within {seconds:g} s{why}")
            time.sleep(self._poll)

    def update(self, node: int, sizes: Mapping[str, Any]) -> None:
        """A site says how many training samples its clients have now.

        Args:
            node: The site.
            sizes: By client.
        """
        if node in self.sites:
            known = self.sites[node].sizes
            new = {c: n for c, n in sizes.items() if c in known and type(n) is int and 0 <= n <= MAX_COUNT}
            self.sites[node] = replace(self.sites[node], sizes={**known, **new})

    def federation(self) -> Sites:
        """Who is there now.

        Returns:
            A federation that does not change any more.
        """
        if self._inputs is None:
            raise ShoalError("no site is there yet")
        ids = tuple(sorted(self.hosts))
        at = {client: self.sites[node] for client, node in self.hosts.items()}
        tags = {client: dict(at[client].tags[client]) for client in ids if client in at[client].tags}
        sizes_N = np.array([at[client].sizes[client] for client in ids], np.int64)
        return Sites(ids, sizes_N, *self._inputs, self._classes, tags)

    def expect(self, shape: Shape, dtype: Kind, classes: int) -> None:
        """The model is made: sites with other inputs or further classes are not admitted, whoever comes first.

        Args:
            shape: Of one input.
            dtype: Of its numbers.
            classes: That the model tells apart.
        """
        self._inputs, self._classes, self._closed = (shape, dtype), classes, True

    def close_classes(self) -> None:
        """The model is made: from now on no site is admitted that has classes it does not know."""
        self._closed = True

    def _admit(self, node: int, site: Any) -> str | None:
        """Take a site in, or say why not."""
        reason = site if isinstance(site, str) else unsound(site)
        if reason is None and self._inputs is not None:
            if (site.shape, site.dtype) != self._inputs:
                reason = f"its inputs are {site.dtype} of shape {site.shape}, the federation's {self._inputs[1]} of "
                reason += f"shape {self._inputs[0]}"
            elif self._closed and site.classes > self._classes:
                reason = f"it has {site.classes} classes, the model knows {self._classes}"
        taken = [] if reason else [c for c in site.sizes if self.hosts.get(c, node) != node]
        if taken:
            reason = f"client {taken[0]!r} is at another site already"
        if reason:
            self.attendance.refuse(node, reason)
            return reason
        self.attendance.admit(node, site)
        self._inputs, self._classes = (site.shape, site.dtype), max(self._classes, site.classes)
        self.sites[node] = site
        self.hosts |= dict.fromkeys(site.sizes, node)
        return None


def said(reply: Any) -> Any:
    """What a reply holds: a record, or the reason why there is none as text."""
    if reply.has_error():
        return f"failed: {printable(reply.error.reason)} (code {reply.error.code})"
    try:
        return unpack(from_content(reply.content))
    except BadInput as e:
        return printable(e)


def unsound(site: Any) -> str | None:
    """Why what a site says of itself cannot be used, or None."""
    if not isinstance(site, Site):
        return f"it answered with a {type(site).__name__}"
    sizes = isinstance(site.sizes, dict) and all(
        type(n) is int and 0 <= n <= MAX_COUNT and c != "*" for c, n in site.sizes.items()
    )
    shapes = site.shape if isinstance(site.shape, dict) else {"0": site.shape}
    kinds = site.dtype if isinstance(site.dtype, dict) else {"0": site.dtype}
    inputs = 0 < len(shapes) <= MOST_ARRAYS and all(map(sound_shape, shapes.values()))
    inputs = inputs and shapes.keys() == kinds.keys() and callable_by(shapes)
    tags = isinstance(site.tags, dict) and all(isinstance(t, dict) for t in site.tags.values())
    kind = all(type(k) is str and k in KINDS for k in kinds.values()) and type(site.name) is str
    classes = type(site.classes) is int and site.classes <= MOST_CLASSES
    if not (sizes and inputs and tags and classes and kind and site.sizes):
        return "what it says of itself makes no sense"
    return None


def sound_shape(shape: Any) -> bool:
    """Whether this is the shape of an array that fits into memory."""
    whole = isinstance(shape, tuple) and all(type(n) is int and 0 <= n <= MOST_NUMBERS for n in shape)
    return whole and prod(n or 1 for n in shape) <= MOST_NUMBERS


def callable_by(names: Mapping[str, Any]) -> bool:
    """Whether a module can be given arrays of these names, or of these places.

    >>> callable_by({"input_ids": 1}), callable_by({"0": 1, "1": 2}), callable_by({"0": 1, "age": 2})
    (True, True, False)
    """
    return names.keys() == {str(i) for i in range(len(names))} or all(name.isidentifier() for name in names)


KINDS = ("float32", "float64", "int64")
MOST_ARRAYS = 100  # of an input; as for the numbers below, more is a mistake, or meant to do harm
MOST_NUMBERS, MOST_CLASSES = 10**8, 10**5  # of an input, of a federation
