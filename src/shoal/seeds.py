"""Randomness as a value: every draw comes from (seed, purpose, round, client), never from order or process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["Key", "hash_ids", "mix"]


@dataclass(frozen=True)
class Key:
    """Names one stream of random numbers.

    Calling a key narrows its purpose; `at` sets the round, `of` the client, `member` gives the streams of another
    member of an ensemble. Two keys with the same fields give the same numbers on every machine.

    Args:
        seed: Of the run.
        purpose: What the numbers are for, as a path.
        round: The round they belong to.
        client: The client they belong to; None: the server.
        secret: Known to the client's own device alone; only what is drawn in `private` depends on it.

    >>> key = Key(seed=1).at(3)
    >>> key("train").of("ann") == Key(1)("train").at(3).of("ann")
    True
    >>> key("train") == key("select")
    False
    """

    seed: int
    purpose: str = ""
    round: int = 0
    client: str | None = None
    secret: str = field(default="", repr=False, metadata={"fingerprint": False})

    def __call__(self, purpose: str) -> Key:
        return Key(self.seed, f"{self.purpose}/{purpose}", self.round, self.client, self.secret)

    def private(self, purpose: str) -> Key:
        """A purpose whose numbers no server can draw again, on a device with a secret; else `key(purpose)`.

        Args:
            purpose: What the numbers are for.

        Returns:
            A key that depends on the secret.

        >>> key, device = Key(1).of("ann"), Key(1, client="ann", secret="5e1f")
        >>> key.private("noise") == key("noise"), device.private("noise").number == key("noise").number
        (True, False)
        """
        return self(f"{purpose}/{self.secret}") if self.secret else self(purpose)

    def at(self, round: int) -> Key:
        """The same purpose in another round."""
        return Key(self.seed, self.purpose, round, self.client, self.secret)

    def of(self, client: str) -> Key:
        """The same purpose for one client."""
        return Key(self.seed, self.purpose, self.round, client, self.secret)

    def member(self, k: int) -> Key:
        """The same purpose under another seed; member 0 is the key itself."""
        return self if k == 0 else self(f"member {k}")

    @property
    def number(self) -> int:
        """128 bits that stand for this key."""
        return self._numbers(("" if self.client is None else "c" + self.client,))[0]

    def numbers(self, clients: Sequence[str]) -> list[int]:
        """`key.of(client).number` of many clients.

        Args:
            clients: Their ids.

        Returns:
            128 bits for each.

        >>> Key(1).numbers(("ann", "bob"))[1] == Key(1).of("bob").number
        True
        """
        return self._numbers(["c" + client for client in clients])

    def _numbers(self, ends: Sequence[str]) -> list[int]:
        digest, of = hashlib.blake2b, int.from_bytes
        text = "\0".join([str(self.seed), self.purpose, str(self.round), ""])
        return [of(digest((text + end).encode(), digest_size=16).digest(), "little") for end in ends]

    def rng(self) -> np.random.Generator:
        """A generator of its own, positioned at the start of this key's stream."""
        return np.random.Generator(np.random.Philox(key=self.number))

    @property
    def torch_seed(self) -> int:
        """A seed for torch, used for initial weights and for dropout."""
        return self.number & (2**63 - 1)

    def scores(self, hashes_N: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """One pseudo-random number per client, a function of this key and of the client's own hash alone.

        Args:
            hashes_N: `hash_ids` of the clients.

        Returns:
            64 random bits per client; a client's do not depend on who else is there.
        """
        return mix(hashes_N ^ np.uint64(self.number & (2**64 - 1)))


def mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection that looks random.

    Args:
        z: Numbers of 64 bits.

    Returns:
        As many others.

    >>> hex(mix(np.array([0], np.uint64))[0])
    '0xe220a8397b1dcdaf'
    """
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return out


@lru_cache(maxsize=4)  # a federation whose data drift has the same clients round after round
def hash_ids(ids: tuple[str, ...]) -> npt.NDArray[np.uint64]:
    """64 bits per client id, the same on every machine.

    Args:
        ids: Of N clients.

    Returns:
        One number of 64 bits each.

    >>> hash_ids(("ann", "bob"))[1] == hash_ids(("bob",))[0]
    np.True_
    """
    digest = hashlib.blake2b
    raw = b"".join(digest(i.encode(), digest_size=8).digest() for i in ids)
    hashes_N = np.frombuffer(raw, dtype="<u8").astype(np.uint64)
    hashes_N.flags.writeable = False  # all who ask share it
    return hashes_N
