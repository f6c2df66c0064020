#!/usr/bin/env python
"""Does the code still give the same bits? Short runs of every algorithm, hashed piece by piece.

    tools/bits.py make > tools/bits.json    hash the runs of this tree
    tools/bits.py check                     compare this tree with tools/bits.json; exit 1 on a difference
    tools/bits.py check --against REV       compare this tree with a commit whose hashes are made here and now

Only what is public is used, so that one script serves old and new code: `shoal.run`, `shoal.sweep`, `shoal list` and
the files of a run folder. Every run is made by engine=serial and by engine=local, which must agree. Equal bits are
promised among alike machines alone, so bits.json names its machine and `check` refuses another one. What a change
moves on purpose is listed in `EXPECTED`; what a later version adds to a run folder is not compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Hashes = dict[str, str]  # of the pieces of a run

EXPECTED: dict[str, str] = {  # a pattern of "run piece", such as "fesem * records.loss" -> why it may differ
    f"{method}* {piece}": "the C kernel trains both streams: by rounding"
    for method in ("fedmmd", "fedfusion")
    for piece in ("models.*", "records.*", "summary.*", "config.kernel")
}
EXPECTED |= {
    f"{method}* {piece}": "losses travel in 4 bytes each and are counted so, no more as 8"
    for method in ("cfl", "ifca")
    for piece in ("records.traffic.losses", "summary.bytes_with_evaluation")
}
EXPECTED |= {"* records.likeness.*": "there are pictures of rounds 3 and 5, too"}

COMMON = {"data": "digits", "rounds": "5", "lr": "0.1", "selection": "random", "clients_per_round": "8"}
DRIFT = "drift=swap-all:0.2+incremental:0.5:every=2+join:0.2@3+leave:0.1@4"


def use(tree: Path) -> None:
    """From now on `import shoal` takes that tree, here and in child processes, with one thread everywhere."""
    sys.path.insert(0, str(tree / "src"))
    os.environ["PYTHONPATH"] = str(tree / "src")
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    import shoal

    if not Path(shoal.__file__).is_relative_to(tree):
        sys.exit(f"bits: shoal was imported from {shoal.__file__}; {tree} is no tree of Shoal")


def machine() -> dict[str, str]:
    """What bits depend on besides the code."""
    import shoal

    with tempfile.TemporaryDirectory() as out:
        shoal.run("fedavg", "digits", rounds=0, out=out, engine="serial")
        kernels = json.loads((Path(out) / "environment.json").read_text())["kernels"]
    cpu = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    said = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in cpu.splitlines())}
    return {
        "processor": said.get("model name") or platform.processor(),
        "instructions": digest(said.get("flags") or said.get("Features") or platform.machine()),
        "kernels": kernels,
        **{package: version(package) for package in ("torch", "numpy", "scipy", "scikit-learn", "ortools")},
    }


def plan(only: str) -> list[str]:
    """What stands behind `shoal run`: the lines of bits.txt, and one with all drifts for every algorithm listed."""
    listed = subprocess.check_output([sys.executable, "-m", "shoal.cli", "list", "algorithms", "--format", "json"])
    keys = {found["name"]: [key["name"] for key in found["keys"]] for found in json.loads(listed)["algorithms"]}
    lines = [line for line in (HERE / "bits.txt").read_text().splitlines() if not line.startswith("#")]
    given = {line.split()[0] for line in lines if "DRIFT" in line}
    first = [f"{name}{' groups=4' * ('groups' in keys[name])} DRIFT" for name in keys if name not in given]
    runs = [line.replace("DRIFT", DRIFT) for line in first + lines if line.split()[0] in keys]
    return [run for run in runs if only in run] or sys.exit(f"bits: no run has {only!r} in its line")


def settings_of(run: str) -> dict[str, Any]:
    return COMMON | dict(word.split("=", 1) for word in run.split()[1:])


def serial(run: str) -> Hashes:
    """A run in this process."""
    import shoal

    settings = settings_of(run)
    with tempfile.TemporaryDirectory() as out:
        try:
            shoal.run(run.split()[0], settings.pop("data"), out=out, engine="serial", **settings)
        except Exception as e:
            return {"error": f"{type(e).__name__}: {e}"}
        return dict(pieces(Path(out)))


def local(runs: list[str]) -> list[Hashes]:
    """The same runs by two workers: as one sweep, which starts them once."""
    import shoal

    texts = [":".join([run.split()[0], *(f'{k}="{v}"' for k, v in settings_of(run).items())]) for run in runs]
    common: dict[str, Any] = {
        "workers": 2,
        "selection": "random",
    }  # else one algorithm that needs all clients decides for the others
    with tempfile.TemporaryDirectory() as out:
        paths = shoal.sweep(texts, out=out, engine="local", **common) if runs else []
        return [dict(pieces(path)) for path in paths]


def pieces(folder: Path) -> Iterator[tuple[str, str]]:
    """Hashes of a run folder: models, groups, keys of the records over all rounds, kinds of events, summary, keys."""
    from safetensors.numpy import load_file

    for path in sorted(folder.glob("models/*.safetensors")):
        tensors = {f"{name} {t.dtype} {t.shape}": t.tobytes() for name, t in sorted(load_file(path).items())}
        yield f"models.{path.stem}", digest(*tensors, *tensors.values())
    if (folder / "groups.csv").exists():
        yield "groups", digest((folder / "groups.csv").read_bytes())
    yield from by_key("records", lines(folder / "records.jsonl"), {"time"})
    yield from by_key("events", [{event["kind"]: [event]} for event in lines(folder / "events.jsonl")])
    yield from by_key("summary", [json.loads((folder / "summary.json").read_text())], {"seconds", "peak_memory"})
    yield from by_key("config", [tomllib.loads((folder / "config.toml").read_text())], {"engine", "workers"})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_key(what: str, rows: Iterable[Mapping[str, Any]], leave: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """A hash per key over all rows; a mapping counts as keys of its own, so that more is named than `measures`."""
    found: dict[str, list[Any]] = {}
    for i, row in enumerate(rows):
        for key in row.keys() - set(leave):
            inner = {f".{k}": v for k, v in row[key].items()} if isinstance(row[key], Mapping) else {"": row[key]}
            for name, value in inner.items():
                found.setdefault(f"{what}.{key}{name}", []).append([i, value])
    return ((key, digest(json.dumps(found[key], sort_keys=True))) for key in sorted(found))


def digest(*parts: str | bytes) -> str:
    """The beginning of SHA-256."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:10]


def make(only: str) -> dict[str, Hashes]:
    """The hashes of all runs; of one that fails, or differs from engine to engine, an error instead."""
    found = {}
    for run in plan(only):
        print(f"\r\033[K{run}" if sys.stderr.isatty() else ".", end="", file=sys.stderr, flush=True)
        found[run] = serial(run)
    worked = [run for run in found if "error" not in found[run]]
    for run, other in zip(worked, local(worked), strict=True):
        apart = sorted(name for name, _ in found[run].items() ^ other.items())
        found[run] = {"error": f"serial and local differ in {', '.join(dict.fromkeys(apart))}"} if apart else other
    print(file=sys.stderr)
    return found


def make_at(revision: str, only: str) -> dict[str, Any]:
    """The hashes of a commit, made in a work tree of its own that is removed again."""
    with tempfile.TemporaryDirectory() as place:
        tree, worktree = f"{place}/tree", ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*worktree, "add", "--quiet", "--detach", tree, revision], check=True)
        try:
            build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]  # without a compiler nothing is built
            subprocess.run(build, cwd=tree, check=True, capture_output=True)
            again = [sys.executable, __file__, "make", "--tree", tree, "--only", only]
            made: dict[str, Any] = json.loads(subprocess.run(again, stdout=subprocess.PIPE).stdout)
        finally:
            subprocess.run([*worktree, "remove", "--force", tree], check=True)
    return made


def verdict(run: str, before: Hashes, now: Hashes) -> tuple[bool, str]:
    """Whether a run is as it was or as it should be, and what to say about it."""
    if "error" in now:
        return False, f"FAILS: {now['error']}"
    differ = [name for name in before if now.get(name) != before[name]]
    why = {name: reason for name in differ for at, reason in EXPECTED.items() if fnmatchcase(f"{run} {name}", at)}
    if wrong := [name for name in differ if name not in why]:
        return False, f"DIFFERS in {', '.join(wrong)}"
    return True, "; ".join(f"differs as expected: {reason}" for reason in sorted(set(why.values()))) or "same"


def check(before: Mapping[str, Any], only: str) -> int:
    commit, here = before["commit"][:7], machine()
    apart = [f"{key} {then}, here {here.get(key)}" for key, then in before["machine"].items() if here.get(key) != then]
    if apart:
        why = f"were made on another machine or build ({'; '.join(apart)})"
        print(f"The hashes of {commit} {why}; make them here: tools/bits.py check --against {commit}")
        return 2
    now, old = make(only), {run: hashes for run, hashes in before["runs"].items() if only in run}
    found = {run: verdict(run, hashes, now.get(run, {"error": "not listed"})) for run, hashes in old.items()}
    print(*(f"{run}: {words}" for run, (_, words) in found.items()), sep="\n")
    print(*(f"{run}: new, nothing to compare with\n" for run in now if run not in old), sep="", end="")
    wrong = sum(not fine for fine, _ in found.values())
    print(f"{wrong} of {len(found)} runs differ from {commit}." if wrong else f"All {len(found)} runs as in {commit}.")
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "check"))
    parser.add_argument("--only", metavar="WORD", default="", help="only the runs in whose line this stands")
    parser.add_argument("--against", metavar="REV", help="check: the commit to compare with")
    parser.add_argument("--tree", type=Path, default=HERE.parent, help="make: where the code lies")
    given = parser.parse_args()
    use(given.tree.resolve())
    if given.what == "check":
        committed = (HERE / "bits.json").read_text()
        return check(make_at(given.against, given.only) if given.against else json.loads(committed), given.only)
    commit = subprocess.check_output(["git", "-C", str(given.tree), "rev-parse", "HEAD"], text=True).strip()
    top, runs = json.dumps({"commit": commit, "machine": machine()}, indent=1), make(given.only)
    inside = ",\n".join(f"  {json.dumps(run)}: {json.dumps(hashes)}" for run, hashes in runs.items())
    print(f'{top[:-2]},\n "runs": {{\n{inside}\n }}\n}}')
    failed = {run: hashes["error"] for run, hashes in runs.items() if "error" in hashes}
    print(*(f"{run}: {error}" for run, error in failed.items()), sep="\n", end="", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
