"""Runs the tests once per setting that moves the last bits, or the pace, and prints a table: `make test-portable`.

    python -m tools.portable [--list] [--settings oldest,one-core] [--logs DIR] [-- pytest's own arguments]

Each library that computes here chooses among instruction sets by itself: OpenBLAS (numpy, scipy), numpy's own loops,
ATen, MKL and oneDNN (torch), and the native kernel. A setting holds one of them back, or all, or takes away the C
compiler, all cores but one, or the quiet. Before a setting is run it is tried in a small process that says what its
libraries really took; where that is not what was asked for, the table says "not on this machine" and why, and
where it is what they take by themselves, that "plain" has shown it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
COMPILERS = re.compile(r"^(.*-)?(cc|gcc|g\+\+|c\+\+|c89|c99|clang|clang\+\+)(-[\d.]+)?$")
BUSY = "while True: pass"

# What the libraries of a process took, as JSON in the last line; oneDNN and MKL say it when asked to be verbose.
TOOK = """
import json, os, numpy, scipy.linalg, threadpoolctl, torch
from shoal.kernels import native
torch.nn.functional.conv2d(torch.ones(2, 3, 8, 8), torch.ones(8, 3, 3, 3))
torch.ones(40, 30) @ torch.ones(30, 20)
blas = [lib["architecture"] for lib in threadpoolctl.threadpool_info() if lib["internal_api"] == "openblas"]
has = numpy._core._multiarray_umath.__cpu_features__
found = numpy.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
print()
print(json.dumps({
    "OpenBLAS": blas[0] if blas else "none",
    "ATen": torch.backends.cpu.get_cpu_capability(),
    "numpy": " ".join(name for name in found if has.get(name)) or "baseline",
    "native kernel": (native() or ["none"])[0],
    "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
}))
"""


@dataclass(frozen=True)
class Setting:
    """What is changed for a run of the tests, and what the libraries must then say they took."""

    about: str
    env: Mapping[str, str] = field(default_factory=dict)
    took: Mapping[str, str] = field(default_factory=dict)  # library -> pattern
    compilers: bool = True
    one_core: bool = False
    busy: int = 0  # processes that compute beside the tests


HELD_BACK = ("openblas-prescott", "aten-default", "onednn-sse41", "mkl-compatible", "numpy-baseline", "kernel-base")


def settings() -> dict[str, Setting]:
    """All of them by name."""
    here = took({})
    if "process" in here:
        sys.exit(f"the libraries cannot even be loaded as they are: {here['process']}")
    alone = {
        "openblas-prescott": ("OPENBLAS_CORETYPE=Prescott", "OpenBLAS", "Prescott|Katmai"),  # two names of one core
        "openblas-nehalem": ("OPENBLAS_CORETYPE=Nehalem", "OpenBLAS", "Nehalem"),
        "openblas-sandybridge": ("OPENBLAS_CORETYPE=Sandybridge", "OpenBLAS", "Sandybridge"),
        "openblas-haswell": ("OPENBLAS_CORETYPE=Haswell", "OpenBLAS", "Haswell"),
        "openblas-skylakex": ("OPENBLAS_CORETYPE=SkylakeX", "OpenBLAS", "SkylakeX"),
        "openblas-armv8": ("OPENBLAS_CORETYPE=ARMV8", "OpenBLAS", "armv8"),
        "aten-default": ("ATEN_CPU_CAPABILITY=default", "ATen", "DEFAULT"),
        "aten-avx2": ("ATEN_CPU_CAPABILITY=avx2", "ATen", "AVX2"),
        "aten-avx512": ("ATEN_CPU_CAPABILITY=avx512", "ATen", "AVX512"),
        "onednn-sse41": ("ONEDNN_MAX_CPU_ISA=SSE41", "oneDNN", "Intel SSE4.1"),
        "onednn-avx2": ("ONEDNN_MAX_CPU_ISA=AVX2", "oneDNN", "Intel AVX2"),
        "mkl-compatible": ("MKL_CBWR=COMPATIBLE", "MKL", "COMPATIBLE"),  # MKL_DEBUG_CPU_TYPE is gone since 2020.1
        "numpy-baseline": (f"NPY_DISABLE_CPU_FEATURES={here['numpy']}", "numpy", "baseline"),
        "kernel-base": ("SHOAL_KERNEL_VARIANT=base", "native kernel", "base"),
        "kernel-avx2": ("SHOAL_KERNEL_VARIANT=avx2", "native kernel", "avx2"),
        "kernel-avx512": ("SHOAL_KERNEL_VARIANT=avx512", "native kernel", "avx512"),
    }
    one = {"cores": "1"}
    return {
        "plain": Setting("as it is"),
        "oldest": Setting("every library held back at once, which moves the most bits"),
        "no-compiler": Setting(
            "no C compiler, no kernel", {"SHOAL_KERNEL_VARIANT": "none"}, {"native kernel": "none"}, compilers=False
        ),
        "one-core": Setting("one core", took=one, one_core=True),
        "loaded": Setting("two busy processes beside it", busy=2),
        "one-core-loaded": Setting("one core, shared with two busy processes", took=one, one_core=True, busy=2),
        **{name: Setting(text, dict([text.split("=")]), {lib: want}) for name, (text, lib, want) in alone.items()},
    }


def oldest(known: Mapping[str, Setting]) -> Setting:
    """Everything held back that this machine can hold back."""
    parts = [known[name] for name in HELD_BACK if obstacle(known[name]) is None]  # the rest cannot be, or is so anyway
    env = {name: value for part in parts for name, value in part.env.items()}
    want = {library: pattern for part in parts for library, pattern in part.took.items()}
    return replace(known["oldest"], env=env, took=want)


def took(env: Mapping[str, str], one_core: bool = False) -> dict[str, str]:
    """What the libraries of a process with these variables take."""
    loud = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "ONEDNN_VERBOSE": "1", "MKL_VERBOSE": "1", **env}
    pin = pin_to_one if one_core else None
    done = subprocess.run([sys.executable, "-c", TOOK], env=loud, preexec_fn=pin, capture_output=True, text=True)
    if done.returncode:
        return {"process": done.stderr.strip().splitlines()[-1]}
    said = {name: str(value) for name, value in json.loads(done.stdout.splitlines()[-1]).items()}
    for name, pattern in (("oneDNN", r"cpu,isa:(.*)"), ("MKL", r"CNR:(\w+)")):
        match = re.search(pattern, done.stdout)
        said[name] = match[1].strip() if match else "none"
    return said


def pin_to_one() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def obstacle(setting: Setting) -> str | None:
    """Why it is not run: this machine cannot do it, or does it anyway."""
    if setting.one_core and not hasattr(os, "sched_setaffinity"):
        return "not on this machine: processes cannot be kept on one core"
    said = took(setting.env, setting.one_core)
    if "process" in said:
        return f"not on this machine: {said['process']}"
    wrong = [f"{name} took {said[name]}" for name, want in setting.took.items() if not re.fullmatch(want, said[name])]
    if wrong:
        return f"not on this machine: {', '.join(wrong)}"
    alone = setting.compilers and not setting.one_core and not setting.busy
    return "what this machine takes by itself, as plain" if alone and setting.env and said == took({}) else None


@contextmanager
def environment(setting: Setting) -> Iterator[dict[str, str]]:
    """The variables of a run; without compilers PATH is a folder of links to every other program."""
    env = {**os.environ, **setting.env}
    if setting.compilers:
        yield env
        return
    with tempfile.TemporaryDirectory() as folder:
        for program in (p for part in os.environ["PATH"].split(os.pathsep) for p in Path(part).glob("*")):
            link = Path(folder) / program.name
            if not COMPILERS.match(program.name) and not link.is_symlink():
                link.symlink_to(program)
        yield {k: v for k, v in env.items() if k not in ("CC", "CXX")} | {"PATH": folder}


@dataclass(frozen=True)
class Outcome:
    """Of the tests under one setting."""

    passed: int
    failed: tuple[str, ...]  # their names
    skipped: int


def run(name: str, setting: Setting, logs: Path, arguments: list[str]) -> Outcome:
    """The tests under one setting; what pytest says goes to a file."""
    cases = logs / f"{name}.xml"
    cases.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={cases}", *arguments]
    pin = pin_to_one if setting.one_core else None
    busy = [subprocess.Popen([sys.executable, "-c", BUSY], preexec_fn=pin) for _ in range(setting.busy)]
    try:
        with environment(setting) as env, (logs / f"{name}.log").open("w") as log:
            code = subprocess.run(command, cwd=ROOT, env=env, preexec_fn=pin, stdout=log, stderr=log).returncode
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return outcome(cases, code)


def outcome(cases: Path, code: int) -> Outcome:
    """What pytest's list of cases says; an exit code that they do not explain is a failure too."""
    found = list(ElementTree.parse(cases).getroot().iter("testcase")) if cases.exists() else []
    fell = [c for c in found if c.find("failure") is not None or c.find("error") is not None]
    names = [f"{c.get('classname')}::{c.get('name')}" for c in fell] or [f"pytest ended with {code}"] * (code != 0)
    skipped = sum(c.find("skipped") is not None for c in found)
    return Outcome(len(found) - len(fell) - skipped, tuple(names), skipped)


def main(words: list[str]) -> int:
    """Run what was asked for; 1 if a test failed under any setting."""
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", help="names with commas; all of them without it")
    parser.add_argument("--list", action="store_true", help="show the settings and run nothing")
    parser.add_argument("--logs", type=Path, help="a folder for what pytest says; a temporary one without it")
    asked = parser.parse_args(words[:cut])
    known = settings()
    names = asked.settings.split(",") if asked.settings else list(known)
    if unknown := [n for n in names if n not in known]:
        parser.error(f"no such setting: {', '.join(unknown)}; there are {', '.join(known)}")
    if asked.list:
        print(*(f"{name:<20} {known[name].about}" for name in names), sep="\n")
        return 0
    logs = asked.logs or Path(tempfile.mkdtemp(prefix="portable-"))
    logs.mkdir(parents=True, exist_ok=True)
    print(f"{'setting':<20} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}", flush=True)
    red: list[str] = []
    for name in names:
        setting = oldest(known) if name == "oldest" else known[name]
        if why := obstacle(setting):
            print(f"{name:<20} {why}", flush=True)
            continue
        began = time.monotonic()
        got = run(name, setting, logs, words[cut + 1 :])
        seconds = time.monotonic() - began
        print(f"{name:<20} {got.passed:>7} {len(got.failed):>7} {got.skipped:>8} {seconds:>8.0f}", flush=True)
        red += [f"{name}: {test}" for test in got.failed]
    if red:
        print("", *red, f"what pytest said is in {logs}", sep="\n")
    return int(bool(red))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
