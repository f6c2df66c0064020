"""The Hugging Face hub, with a stand-in for the `datasets` package."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from shoal.data import hub
from shoal.data.hub import Unavailable


class Table(dict[str, list[Any]]):
    """The part of `datasets.Dataset` that is used."""

    features: dict[str, Any]

    @property
    def column_names(self) -> list[str]:
        return list(self)


class Label:
    names = tuple(reversed(hub.CHARACTERS))


def install(monkeypatch: pytest.MonkeyPatch, tables: dict[tuple[str, str], Table]) -> None:
    fake = ModuleType("datasets")

    def load_dataset(path: str, split: str) -> Table:
        return tables[path, split]

    fake.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", fake)


def test_pictures_become_the_four_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = image.fromarray(np.full((3, 3), 7, np.uint8))
    tables = {("a/b", s): Table(image=[picture] * n, label=[1] * n) for s, n in (("train", 4), ("test", 2))}
    install(monkeypatch, tables)
    arrays = hub.images("a/b", "image", "label")
    assert arrays["x_train"].shape == (4, 3, 3)
    assert arrays["x_train"].dtype == np.uint8
    assert arrays["y_test"].tolist() == [1, 1]


def test_femnist_is_sorted_by_writer_and_has_dark_ink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "LEAST_WRITERS", 2)
    monkeypatch.setattr(hub, "LEAST_SAMPLES", 3)
    bright = [np.full((28, 28), v, np.uint8) for v in (1, 2, 3)]
    table = Table(image=bright, writer_id=["w2", "w1", "w2"], character=[61, 0, 60])
    table.features = {"character": Label()}  # names in reversed order: number 61 is '0', 0 is 'z', 60 is '1'
    install(monkeypatch, {("f", "train"): table})
    got = hub.femnist("f")
    assert got["client_names"].tolist() == ["w1", "w2"]
    assert got["client"].tolist() == [0, 1, 1]
    assert got["y"].tolist() == [61, 0, 1]
    assert got["x"][:, 0, 0].tolist() == [253, 254, 252]  # 255 - 2, 255 - 1, 255 - 3


def test_what_is_not_femnist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(image=[], writer_id=["a"], character=[0])
    install(monkeypatch, {("f", "train"): table})
    with pytest.raises(Unavailable, match="1 samples of 1 writers are not FEMNIST"):
        hub.femnist("f")
    install(monkeypatch, {("f", "train"): Table(image=[])})
    with pytest.raises(Unavailable, match="no column 'writer_id'"):
        hub.femnist("f")


def test_errors_of_the_hub_are_one_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {})
    with pytest.raises(Unavailable, match="KeyError while downloading"):
        hub.load("a/b", "train")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(Unavailable, match="pip install"):
        hub.load("a/b", "train")
