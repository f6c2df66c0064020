"""Folders of images as a federation: `PATH/client/class/*.png`, or `PATH/class/*.png` dealt by a partition."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.own import from_arrays
from shoal.data.samples import Inputs
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key
from shoal.types import Array

KINDS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
SPLITS = {"train", "test"}


def read_images(
    path: str | Path, *, size: int | None = None, grey: bool = False, test: float = 0.1, seed: int | Key = 0
) -> Federation | Dataset:
    """The images below a folder: a federation if its folders are clients, a data set if they are classes.

    Folders called `train` and `test` are the two parts of a data set. Images are kept as bytes (C, H, W); a model sees
    them divided by 255.

    >>> read_images("/nowhere")
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: there is no folder /nowhere; give one with PATH/client/class/*.png or PATH/class/*.png.
    """
    folder = Path(path).expanduser()
    wanted = "PATH/client/class/*.png or PATH/class/*.png"
    if not folder.is_dir():
        raise DataMissing(f"there is no folder {folder}; give one with {wanted}.")
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in KINDS and f.is_file())
    places = [f.relative_to(folder).parts[:-1] for f in files]
    depths = {len(place) for place in places}
    if depths not in ({1}, {2}):
        what = "no image" if not depths else "images at different depths, or not in folders of classes"
        raise DataMissing(f"folder {folder} holds {what}; it needs {wanted}.")
    names = tuple(sorted({place[-1] for place in places}))
    number = {name: k for k, name in enumerate(names)}
    x, y = _pixels(files, size, grey), np.array([number[place[-1]] for place in places], np.int64)
    owners = np.array([place[0] for place in places])
    if depths == {2} and set(owners.tolist()) != SPLITS:
        clients = {name: (x[owners == name], y[owners == name]) for name in sorted(set(owners.tolist()))}
        return from_arrays(clients, test=test, seed=seed, name=f"images {folder.name}", class_names=names)
    first_test = int((owners == "train").sum()) if depths == {2} else None
    order = np.arange(len(y)) if first_test is None else np.argsort(owners == "test", kind="stable")
    whole = Dataset(name="images", x=x, y=y, classes=len(names), inputs=Inputs(0.0, 255.0), class_names=names)
    return replace(whole.take(order), first_test=first_test)


def from_images(
    path: str | Path,
    *,
    partition: str | None = None,
    size: int | None = None,
    grey: bool = False,
    test: float = 0.1,
    seed: int | Key = 0,
) -> Federation:
    """From `PATH/client/class/*.png`, or from `PATH/class/*.png` dealt to clients by a partition.

    >>> from_images("/nowhere")
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: there is no folder /nowhere; give one with PATH/client/class/*.png or PATH/class/*.png.
    """
    from shoal.data.build import deal

    key = seed if isinstance(seed, Key) else Key(seed)
    found = deal(read_images(path, size=size, grey=grey, test=test, seed=key("data")), partition, key)
    assert isinstance(found, Federation)
    return found


def _pixels(files: list[Path], size: int | None, grey: bool) -> Array:
    """All images as bytes, (N, C, H, W)."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as e:
        raise BadInput("to read images Pillow is needed: pip install 'shoal[images]'") from e
    if size is not None and size < 1:
        raise BadInput(f"size must be at least 1 pixel, not {size}")
    images: list[Array] = []
    for file in files:
        try:
            with Image.open(file) as opened:
                image = opened.convert("L" if grey else "RGB")
        except (UnidentifiedImageError, OSError) as problem:
            raise BadInput(f"{file} cannot be read as an image: {problem}") from problem
        image = image if size is None else image.resize((size, size))
        pixels = np.asarray(image, np.uint8)
        if images and pixels.shape != images[0].shape:
            raise BadInput(
                f"{file} has {pixels.shape[1]}x{pixels.shape[0]} pixels, others {images[0].shape[1]}x"
                f"{images[0].shape[0]}; size=32 makes all alike"
            )
        images.append(pixels)
    x = np.stack(images)
    return x[:, None] if grey else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
