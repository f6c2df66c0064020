"""A key is a name: equal names give equal numbers, and what belongs to one client does not depend on the others."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from shoal.seeds import Key, hash_ids, mix


def test_the_number_of_a_key_is_the_hash_of_its_fields() -> None:
    """Written out, so that no change of the package changes what a seed means."""
    for key, text in {
        Key(0): "0\0\x000\0",
        Key(1)("train").at(3).of("ann"): "1\0/train\x003\0cann",
        Key(1)("a")("b"): "1\0/a/b\x000\0",
        Key(1).of(""): "1\0\x000\0c",  # a client without letters is not the server
    }.items():
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        assert key.number == int.from_bytes(digest, "little")
        assert key.torch_seed == key.number % 2**63


def test_streams_are_what_they_were() -> None:
    bits = Key(7).rng().bit_generator
    assert isinstance(bits, np.random.Philox)
    assert bits.random_raw(2).tolist() == [6964540071095132195, 1917981196597430041]


@pytest.mark.parametrize(
    "other",
    [Key(2)("a"), Key(1)("b"), Key(1)("a").at(1), Key(1)("a").of("ann"), Key(1)("a").member(1), Key(1)("a")("")],
)
def test_another_field_is_another_stream(other: Key) -> None:
    assert other.number != Key(1)("a").number
    assert not np.array_equal(other.rng().random(4), Key(1)("a").rng().random(4))


def test_member_0_is_the_key_itself() -> None:
    key = Key(3)("train").at(5)
    assert key.member(0) is key
    assert key.member(2) == Key(3)("train")("member 2").at(5)


def test_scores_belong_to_clients_not_to_their_order() -> None:
    ids, key = ("ann", "bob", "eve"), Key(1)("select").at(2)
    score = dict(zip(ids, key.scores(hash_ids(ids)).tolist(), strict=True))
    assert key.scores(hash_ids(("eve", "zoe", "ann"))).tolist()[::2] == [score["eve"], score["ann"]]
    assert len({*score.values(), *key.at(3).scores(hash_ids(ids)).tolist()}) == 6


def test_mix_is_splitmix64() -> None:
    """The first outputs of splitmix64 from seed 0, as its authors publish them: each is mix(i * golden ratio)."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([i * golden % 2**64 for i in range(3)], np.uint64)
    assert [hex(v) for v in mix(states).tolist()] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]
