"""Sentiment140: tweets of 2,875 users as sequences of word vectors, negative or positive (part of LEAF's selection)."""

from __future__ import annotations

import re

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.datasets.registry import dataset
from shoal.data.find import read
from shoal.errors import BadInput, DataMissing
from shoal.types import Array

ARRAYS = ("text", "y", "client", "vocab", "emb")
WORD = re.compile(r"[\w']+|[.,!?;]")  # as LEAF cuts a tweet


@dataset("sent140", partition="writers:clients=all:least=10")
def sent140(words: int = 25, width: int = 0) -> Dataset:
    """Tweets of `words` tokens, each a frozen word vector; no given test part, and the users as writers.

    `width=0` takes the GloVe vectors of the file. Another width gives every word a fixed random vector of so many
    numbers, which is of use to time models of the papers (300) and of no use to learn from little data.

    >>> sent140().classes  # doctest: +SKIP
    2
    """
    if words < 1 or width < 0:
        raise BadInput(f"sent140 takes words from 1 on and a width from 0 on, not {words} and {width}")
    arrays = read("sent140", ARRAYS)
    text, vocab, vectors = arrays["text"], arrays["vocab"], arrays["emb"].astype(np.float32)
    y, user = arrays["y"].astype(np.int64), arrays["client"].astype(np.int64)
    fits = vectors.ndim == 2 and len(vectors) == len(vocab) and len(text) == len(y) == len(user)
    if not fits or text.dtype.kind != "U" or y.max(initial=0) > 1:
        raise DataMissing("the file of data set 'sent140' does not hold what it should; see docs/partitions.md.")
    if width:
        vectors = np.random.default_rng(0).normal(0, 0.4, (len(vocab), width)).astype(np.float32)
    unknown = np.zeros((1, vectors.shape[1]), np.float32)  # the extra row, also in front of short tweets
    number = {str(word): i for i, word in enumerate(vocab)}
    tokens_NT = np.stack([tokens(str(tweet), number, words) for tweet in text])
    x = np.concatenate([vectors, unknown])[tokens_NT]
    names = tuple(f"{i:04d}" for i in range(int(user.max(initial=0)) + 1))
    return Dataset(
        name="sent140", x=x, y=y, classes=2, writer=user, writer_names=names, class_names=("negative", "positive")
    )


def tokens(tweet: str, number: dict[str, int], words: int) -> Array:
    """Numbers of the first words of a tweet; unknown words, and what is missing in front, have the one after the last.

    >>> tokens("Good morning, XYZ!", {"good": 0, "morning": 1, ",": 2, "!": 3}, 6).tolist()
    [4, 0, 1, 2, 4, 3]
    """
    found = [number.get(word, len(number)) for word in WORD.findall(tweet.lower())[:words]]
    return np.array([len(number)] * (words - len(found)) + found, np.int64)
