"""Runs tests against mutants, each in a child forked from a process that has imported and collected everything already.

A plugin of pytest: `SHOAL_MUTATE=map` measures which test runs which line, `SHOAL_MUTATE=serve` answers requests, one
JSON object per line on standard input. As a program it answers requests about changes that take effect on import: its
children import Shoal anew, only the packages that Shoal needs are there already.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import marshal
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from tools.mutation.changes import Mutant, mutants
from tools.mutation.hook.sitecustomize import MutantFinder

ROOT = Path(__file__).resolve().parents[2]
HOOK = str(Path(__file__).resolve().parent / "hook")
MODE = os.environ.get("SHOAL_MUTATE", "")
MEMORY = 4 << 30  # bytes that a mutant may take beyond what is there

Request = dict[str, Any]
Verdict = dict[str, Any]


# ------------------------------------------------------------------------------------------------------ as a plugin


def pytest_configure(config: pytest.Config) -> None:
    if MODE:
        from hypothesis import settings

        settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
        settings.load_profile("mutants")
    if MODE == "map":
        config.pluginmanager.register(Mapper(), "mapper")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if MODE != "serve":
        return None
    items = {item.nodeid: item for item in session.items}
    functions = index()
    gc.collect()
    gc.freeze()

    def child(request: Request, mutant: Mutant, folder: Path) -> Verdict:
        if not install(mutant, folder, functions):
            return {"status": "fresh"}
        factory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        factory._given_basetemp = folder / "tmp"
        chosen = [items[name] for name in request["tests"] if name in items]
        for number, item in enumerate(chosen):
            following = chosen[number + 1] if number + 1 < len(chosen) else None
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return {"status": "killed", "by": item.nodeid}
        return {"status": "survived"}

    answer_all(child)
    return True


class Mapper:
    """Notes for every test its time, its outcome, and the lines it runs, also in processes that it starts."""

    def __init__(self) -> None:
        import coverage

        self.coverage = coverage.Coverage(config_file=os.environ["COVERAGE_PROCESS_START"])
        self.coverage.start()
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        names = getattr(item, "fixturenames", ())
        file = str(item.path.relative_to(ROOT))
        self.tests[item.nodeid] = {"seconds": 0.0, "passed": True, "pool": "pool" in names, "file": file}
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests[report.nodeid]
        test["seconds"] = round(test["seconds"] + report.duration, 3)
        test["passed"] &= report.outcome == "passed" or (report.when != "call" and report.outcome != "failed")

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        ours = ("shoal", "tests", "tools", "__main__", "_hypothesis", "hypothesis", "coverage", "conftest")
        known = {name for name in sys.modules if "." not in name and not name.startswith(ours)}
        Path(os.environ["SHOAL_ANSWERS"]).write_text(json.dumps({"tests": self.tests, "modules": sorted(known)}))


# ----------------------------------------------------------------------------------------------- both ways of serving


def answer_all(child: Callable[[Request, Mutant, Path], Verdict]) -> None:
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(int(os.environ["SHOAL_ANSWERS"]), "w")
    made: dict[str, dict[str, Mutant]] = {}
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in iter(requests.readline, ""):
        request = json.loads(line)
        if request["file"] not in made:
            made = {request["file"]: {m.name: m for m in mutants(ROOT, request["file"])}}
        began = time.monotonic()
        verdict = fork(child, request, made[request["file"]][request["name"]])
        verdict["seconds"] = round(time.monotonic() - began, 2)
        print(json.dumps(verdict), file=answers, flush=True)


def fork(child: Callable[[Request, Mutant, Path], Verdict], request: Request, mutant: Mutant) -> Verdict:
    """What a child process says about a mutant; one that takes too long, or dies, has noticed it."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    pid = os.fork()
    if pid == 0:
        try:
            prepare(request)
            verdict = child(request, mutant, folder)
            (folder / "verdict").write_text(json.dumps(verdict))
        except BaseException as e:
            (folder / "verdict").write_text(json.dumps({"status": "survived", "by": f"{type(e).__name__}: {e}"[:200]}))
        finally:
            os._exit(0)
    handle = os.pidfd_open(pid)
    ended = select.select([handle], [], [], request["wall"])[0]
    os.close(handle)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # and whatever the test has left running
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    said = folder / "verdict"
    verdict = json.loads(said.read_text()) if said.exists() else {"status": "killed", "by": "time" if ended else "wall"}
    shutil.rmtree(folder, ignore_errors=True)
    return dict(verdict)


def prepare(request: Request) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    resource.setrlimit(resource.RLIMIT_CPU, (int(request["cpu"]), int(request["cpu"]) + 5))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    os.environ["SHOAL_MUTATE"] = "child"


def install(mutant: Mutant, folder: Path, functions: dict[str, list[FunctionType]]) -> bool:
    """Put the mutant in the place of the original: in this process, and in those that it starts.

    False if that cannot be done to a module that is loaded already.
    """
    file, module = str(ROOT / mutant.file), module_of(mutant.file)
    code = compile(mutant.apply(), file, "exec")
    (folder / "code").write_bytes(marshal.dumps(code))
    os.environ["SHOAL_MUTANT"] = os.pathsep.join((module, file, str(folder / "code")))
    os.environ["PYTHONPATH"] = os.pathsep.join((HOOK, str(ROOT / "src"), str(ROOT)))
    if module not in sys.modules:
        sys.meta_path.insert(0, MutantFinder(module, file, code))
        return True
    new: dict[tuple[str, int], list[CodeType]] = {}
    for c in codes(code):
        new.setdefault((c.co_qualname, c.co_firstlineno), []).append(c)
    changed = False
    for f in functions.get(file, []):
        same = new.get((f.__code__.co_qualname, f.__code__.co_firstlineno), [])
        if any(c != f.__code__ for c in same):
            if len(same) > 1 or same[0].co_freevars != f.__code__.co_freevars:
                return False
            f.__code__ = same[0]
            changed = True
    return changed


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def index() -> dict[str, list[FunctionType]]:
    """All functions of Shoal that there are, by file."""
    found: dict[str, list[FunctionType]] = {}
    for f in gc.get_objects():
        if type(f) is FunctionType and f.__code__.co_filename.startswith(str(ROOT / "src")):
            found.setdefault(f.__code__.co_filename, []).append(f)
    return found


def module_of(file: str) -> str:
    parts = Path(file).with_suffix("").parts
    parts = parts[parts.index("shoal") :]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# ----------------------------------------------------------------------------------------------------- as a program


def serve_fresh(known: list[str]) -> None:
    for name in known:
        with contextlib.suppress(Exception):
            importlib.import_module(name)

    def child(request: Request, mutant: Mutant, folder: Path) -> Verdict:
        install(mutant, folder, {})
        try:
            importlib.import_module(module_of(mutant.file))
        except Exception as e:
            return {"status": "killed", "by": f"import: {type(e).__name__}"}
        first = First()
        known = "ignore::pytest.PytestAssertRewriteWarning"  # plugins were imported before pytest saw them
        options = ["-q", "-x", "-s", "-W", known, "-p", "no:cacheprovider", "-p", "tools.mutation.server"]
        options += [f"--basetemp={folder / 'tmp'}"]
        code = pytest.main([*options, *request["tests"]], plugins=[first])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
            return {"status": "survived", "by": f"pytest ended with {int(code)}"}
        return {"status": "killed", "by": first.failed or "collection"} if code else {"status": "survived"}

    gc.collect()
    gc.freeze()
    answer_all(child)


class First:
    """Remembers the first test that failed."""

    failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


if __name__ == "__main__":
    serve_fresh(sys.argv[1:])
