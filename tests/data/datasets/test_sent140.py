"""Tweets as sequences of word vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shoal.data.build import build
from shoal.data.datasets.sent140 import sent140
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key


def write(folder: Path, **other: object) -> None:
    arrays = {
        "text": np.array(["Oh no", "oh YES, yes!", ""]),
        "y": np.array([0, 1, 1], np.uint8),
        "client": np.array([0, 1, 1], np.int32),
        "vocab": np.array(["oh", "yes", "!"]),
        "emb": np.array([[1, 2], [3, 4], [5, 6]], np.float32),
    }
    np.savez(folder / "sent140.npz", **{**arrays, **other})  # type: ignore[arg-type]


def test_words_become_vectors_with_padding_in_front(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    write(tmp_path)
    data = sent140(words=4)
    o = [0, 0]  # padding, and words that are not known
    assert data.x.tolist() == [[o, o, [1, 2], o], [[1, 2], [3, 4], o, [3, 4]], [o, o, o, o]]
    assert data.y.tolist() == [0, 1, 1]
    assert sent140(words=4, width=7).x.shape == (3, 4, 7)
    assert (sent140(words=4, width=7).x == sent140(words=4, width=7).x).all()


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataMissing, match=r"not on this machine; set SHOAL_DATA to a folder with sent140.npz"):
        sent140()
    write(tmp_path, emb=np.zeros((2, 2)))
    with pytest.raises(DataMissing, match="does not hold what it should"):
        sent140()
    with pytest.raises(BadInput, match="words from 1 on"):
        sent140(words=0)


@pytest.mark.data
def test_users_are_clients(real: Callable[[str], None]) -> None:
    real("sent140")
    federation = build("sent140", None, Key(0))
    assert len(federation.ids) == 218  # users with ten tweets or more
    assert federation.shape == (25, 50)
