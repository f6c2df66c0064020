"""The checks of `shoal doctor`: each looks at one thing and says what it found."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from shoal.analysis.units import size
from shoal.errors import BadInput

ROOM = 1e9  # bytes below which memory or /dev/shm gets a warning


@dataclass(frozen=True)
class Finding:
    """What a check found. Only a problem with something essential makes the doctor fail."""

    name: str
    state: Literal["ok", "missing", "problem"]
    detail: str
    essential: bool = False


def python() -> Iterator[Finding]:
    fine = sys.version_info >= (3, 11)
    needs = "" if fine else "; Shoal needs 3.11 or newer"
    yield Finding("python", "ok" if fine else "problem", platform.python_version() + needs, essential=True)


def torch() -> Iterator[Finding]:
    try:
        import torch as library
    except Exception as e:
        yield Finding("torch", "problem", f"cannot be imported ({e}); run: pip install torch", essential=True)
        return
    cuda = "with" if library.cuda.is_available() else "without"
    yield Finding(
        "torch", "ok", f"{library.__version__}, {library.get_num_threads()} threads, {cuda} CUDA", essential=True
    )


def kernels() -> Iterator[Finding]:
    from shoal.kernels import native, why_none

    try:
        found = native()
    except BadInput as e:
        yield Finding("native kernel", "problem", str(e), essential=True)
        return
    if found is None:
        yield Finding("native kernel", "missing", f"{why_none()}; with it small networks train faster")
    else:
        yield Finding("native kernel", "ok", f"built for {found[0]}")


def cores() -> Iterator[Finding]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("cores", "ok", f"{usable}; engine=local starts as many workers")


def memory() -> Iterator[Finding]:
    try:
        text = Path("/proc/meminfo").read_text()
        free, total = (int(re.findall(rf"{key}:\s+(\d+)", text)[0]) * 1024 for key in ("MemAvailable", "MemTotal"))
    except (OSError, IndexError):
        yield Finding("memory", "missing", "this system does not tell; runs will not show their peak memory")
        return
    yield Finding("memory", "ok" if free > ROOM else "problem", f"{size(free)} of {size(total)} available")


def shared_memory() -> Iterator[Finding]:
    shm = Path("/dev/shm")
    if not shm.is_dir() or not os.access(shm, os.W_OK):
        place = tempfile.gettempdir()
        yield Finding(
            "shared memory", "missing", f"no /dev/shm to write to; engine=local uses {place}, which is slower"
        )
        return
    free = shutil.disk_usage(shm).free
    hint = "" if free > ROOM else f"; larger data goes through {tempfile.gettempdir()}, which is slower"
    yield Finding("shared memory", "ok" if free > ROOM else "problem", f"{size(free)} free in /dev/shm{hint}")


def run_folder() -> Iterator[Finding]:
    place = Path("runs") if Path("runs").exists() else Path(".")
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as e:
        detail = f"{place.absolute()} cannot be written ({e.strerror}); use out=DIR or another folder"
        yield Finding("run folder", "problem", detail, essential=True)
        return
    yield Finding(
        "run folder", "ok", f"{Path('runs').absolute()} can be written, {size(shutil.disk_usage(place).free)} free"
    )


def engine() -> Iterator[Finding]:
    """One round with one worker process, on three tiny clients."""
    try:
        import numpy as np

        from shoal.data.federation import Federation
        from shoal.experiment.api import run

        tiny = {name: (np.eye(4, dtype=np.float32), np.arange(4) % 2) for name in "abc"}
        run(
            "fedavg",
            Federation.from_arrays(tiny),
            "mclr",
            rounds=1,
            engine="local",
            workers=1,
            timeout=60,
            progress=False,
        )
    except Exception as e:
        detail = f"a worker could not do a tiny task ({' '.join(str(e).split())}); use engine=serial"
        yield Finding("engine local", "problem", detail, essential=True)
        return
    yield Finding("engine local", "ok", "a worker process started and did a tiny task", essential=True)


def ray() -> Iterator[Finding]:
    """Whether Ray is there; it is not started, which would take its time."""
    if installed("ray"):
        yield Finding("engine ray", "ok", f"ray {metadata.version('ray')}; `shoal selfcheck engines` tries it")
    else:
        yield Finding("engine ray", "missing", "for clusters; run: pip install 'shoal[ray]'")


def data() -> Iterator[Finding]:
    from shoal.cli.catalogue import WITH_PACKAGE, whereabouts
    from shoal.data.datasets import DATASETS

    for name in (name for name in DATASETS if not {"has_clients", "own_files"} & {*DATASETS.traits(name)}):
        found, where = whereabouts(name)
        yield Finding(
            f"data {name}", "ok" if found else "missing", where if name in WITH_PACKAGE or not found else f"in {where}"
        )


def plugins() -> Iterator[Finding]:
    """What other packages add by entry points."""
    from shoal.setup.own import REGISTRIES

    for registry in REGISTRIES.values():
        for name in registry:
            if package := registry.package(name):
                yield Finding(f"{registry.kind} {name}", "ok", f"from {package}")
        for plugin in registry.broken:
            yield Finding(f"{registry.kind} {plugin.name}", "problem", plugin.sentence)


def extras() -> Iterator[Finding]:
    """Optional packages, as the installed package declares them."""
    try:
        wanted = metadata.requires("shoal") or []
    except metadata.PackageNotFoundError:
        yield Finding("package", "problem", "Shoal is not installed as a package; run: pip install -e .")
        return
    groups: dict[str, list[str]] = {}
    for text in wanted:
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", text)
        name = re.match(r"[\w.-]+", text)
        if extra and name:
            groups.setdefault(extra[1], []).append(name[0])
    for extra_name, packages in groups.items():
        lacking = [p for p in packages if not installed(p)]
        detail = ", ".join(packages) if not lacking else f"{', '.join(lacking)}; run: pip install 'shoal[{extra_name}]'"
        yield Finding(f"extra {extra_name}", "missing" if lacking else "ok", detail)


def installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    python,
    torch,
    kernels,
    cores,
    memory,
    shared_memory,
    run_folder,
    engine,
    ray,
    data,
    plugins,
    extras,
)
