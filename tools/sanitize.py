"""The tests of the C kernels against a build that sanitizers watch: addresses and undefined behaviour, or threads.

    python -m tools.sanitize [--threads] [arguments of pytest]       # make test-sanitized

The kernels are built for every instruction set into a copy of the package in a temporary folder; what is installed
stays as it is. An access outside an array, or arithmetic that C does not define, ends the tests with a report; with
`--threads` two threads that meet at one number without an agreement do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Watch(NamedTuple):
    """A sanitizer's library, the flags of a build for it, and the tests that are run."""

    library: str
    flags: str
    tests: str


COMMON = "-O1 -g -fno-omit-frame-pointer"
MEMORY = Watch("libasan.so", f"{COMMON} -fsanitize=address,undefined -fno-sanitize-recover=all", "tests/kernels")
THREADS = Watch("libtsan.so", f"{COMMON} -fsanitize=thread", "tests/kernels/test_cohort.py")


class Unavailable(Exception):
    """Why there can be no such build here."""


def library(name: str = MEMORY.library) -> str:
    """Where the compiler keeps a sanitizer, which has to be loaded before everything else."""
    compiler = os.environ.get("CC", "gcc").split()[0]
    if sys.platform != "linux" or shutil.which(compiler) is None:
        raise Unavailable(f"sanitizers need Linux and a compiler; {compiler} was not found")
    asked = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = asked.stdout.strip()
    if not os.path.isabs(path):  # the compiler answers with the bare name when it has none
        raise Unavailable(f"{compiler} comes without {name}")
    return path


def build(folder: Path, flags: str) -> list[str]:
    """The package with kernels that are watched; the names of the variants that were built."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
    env = {**os.environ, "SHOAL_CFLAGS": flags}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, env=env, check=True)
    return sorted(path.name for path in (folder / "src/shoal/kernels").glob("*.so"))


def main(arguments: list[str]) -> int:
    watch = THREADS if "--threads" in arguments else MEMORY
    rest = [word for word in arguments if word != "--threads"]
    preload = library(watch.library)
    with tempfile.TemporaryDirectory(prefix="shoal-sanitized-") as name:
        folder = Path(name)
        built = build(folder, watch.flags)
        if not built:
            raise Unavailable("the kernels could not be built with sanitizers")
        print(f"built with {watch.flags}: {', '.join(built)}", flush=True)
        env = {"LD_PRELOAD": preload, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"}
        env |= {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "exitcode=66"}
        options = ["-q", "-s", "-p", "no:cacheprovider", "-o", f"pythonpath={folder / 'src'} ."]
        command = [sys.executable, "-m", "pytest", *options, *(rest or [watch.tests])]
        return subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unavailable as e:
        sys.exit(str(e))
