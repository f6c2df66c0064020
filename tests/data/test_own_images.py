"""Folders of images: clients, classes, parts, sizes, and what cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shoal import Federation
from shoal.data import Federation as Built
from shoal.data import build
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key


def paint(place: Path, value: int, size: tuple[int, int] = (4, 3), mode: str = "RGB") -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, (value, 0, 255) if mode == "RGB" else value).save(place)


def test_clients_and_classes_are_folders(tmp_path: Path) -> None:
    for k, place in enumerate(("ann/cat/1.png", "ann/dog/1.PNG", "bob/dog/1.bmp", "bob/emu/2.png")):
        paint(tmp_path / place, 10 * k)
    fed = Federation.from_images(tmp_path, test=0)
    assert fed.ids == ("ann", "bob") and fed.class_names == ("cat", "dog", "emu") and fed.classes == 3
    assert fed.x.dtype == np.uint8 and fed.x.shape == (4, 3, 3, 4), "channels, height, width"
    assert fed.x[:, 0, 0, 0].tolist() == [0, 10, 20, 30] and fed.y.tolist() == [0, 1, 1, 2]
    assert fed.client("bob")("train")[0][0, 2].tolist() == np.ones((3, 4)).tolist(), "bytes are divided by 255"
    with pytest.raises(BadInput, match="comes with its own clients; leave partition out"):
        Federation.from_images(tmp_path, partition="iid")


def test_classes_alone_are_dealt_by_a_partition(tmp_path: Path) -> None:
    for k in range(12):
        paint(tmp_path / ("cat" if k % 2 else "dog") / f"{k}.png", k)
    fed = Federation.from_images(tmp_path, partition="iid:clients=3", grey=True, size=2)
    assert len(fed.ids) == 3 and fed.class_names == ("cat", "dog") and fed.shape == (1, 2, 2)
    named = build(f"images:{tmp_path}:size=2:grey=true", "iid:clients=3", Key(0))
    assert isinstance(named, Built) and named.fingerprint() == fed.fingerprint()


def test_train_and_test_are_parts_and_no_clients(tmp_path: Path) -> None:
    for k in range(8):
        paint(tmp_path / ("train" if k < 6 else "test") / ("cat" if k % 2 else "dog") / f"{k}.png", k)
    fed = Federation.from_images(tmp_path, partition="iid:clients=2")
    assert sorted(fed.x[fed.train.index, 0, 0, 0].tolist()) == list(range(6))
    assert sorted(fed.x[fed.test.index, 0, 0, 0].tolist()) == [6, 7]


def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataMissing, match="holds no image; it needs PATH/client/class"):
        Federation.from_images(tmp_path)
    paint(tmp_path / "a" / "cat" / "1.png", 1)
    paint(tmp_path / "a" / "cat" / "2.png", 1, (5, 5))
    with pytest.raises(BadInput, match=r"2.png has 5x5 pixels, others 4x3; size=32 makes all alike"):
        Federation.from_images(tmp_path)
    with pytest.raises(BadInput, match="size must be at least 1 pixel, not 0"):
        Federation.from_images(tmp_path, size=0)
    (tmp_path / "a" / "cat" / "2.png").write_text("no image")
    with pytest.raises(BadInput, match=r"2.png cannot be read as an image"):
        Federation.from_images(tmp_path)
    paint(tmp_path / "3.png", 1)
    with pytest.raises(DataMissing, match="holds images at different depths"):
        Federation.from_images(tmp_path)
    (tmp_path / "3.png").unlink()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(BadInput, match=r"Pillow is needed: pip install 'shoal\[images\]'"):
        Federation.from_images(tmp_path)
