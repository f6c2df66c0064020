"""Shared memory: what is closed is gone."""

from __future__ import annotations

import os

import numpy as np
import pytest

from shoal.backends.shared_memory import Block, Publisher


def test_closing_a_publisher_closes_its_blocks() -> None:
    publisher = Publisher()
    number = publisher.add(10)
    publisher.dump("thing", np.zeros(1 << 17))  # a megabyte: a block of its own
    files = [block.fd for block in publisher.blocks.values()]
    assert (number, len(files)) == (1, 2)
    publisher.close()
    assert publisher.blocks == {}
    for fd in files:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_a_publisher_that_was_closed_knows_nothing_of_before() -> None:
    publisher, big = Publisher(), np.zeros(1 << 17)
    publisher.dump("thing", big)
    publisher.close()
    publisher.dump("thing", big)
    assert len(publisher.blocks) == 1  # shared again
    publisher.close()


def test_no_room_anywhere_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, size: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("shoal.backends.shared_memory.reserve", full)
    with pytest.raises(MemoryError, match="no room for 5 MB of shared memory"):
        Block.new(5_000_000)
