"""Which test runs which line of the files in scope, and how long it takes."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tools.mutation.changes import Mutant

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutate"
POOL = 4.0  # seconds that starting worker processes takes a test
SCOPE = [
    *(
        f"src/shoal/{name}"
        for name in ("measures", "clusterers", "aggregators", "tasks", "algorithms", "engine", "backends")
    ),
    *(f"src/shoal/{name}.py" for name in ("selection", "metrics", "validate", "analysis/significance")),
]
FAR = ("bench", "cli", "data", "kernels", "models", "observers", "report", "tools", "ui", "test_docs", "test_readme")


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def in_scope(paths: Iterable[str]) -> list[str]:
    """The files, relative to the repository."""
    found: list[str] = []
    for path in paths:
        p = ROOT / path
        found += [str(f.relative_to(ROOT)) for f in ([p] if p.is_file() else sorted(p.rglob("*.py")))]
    return found


class Map:
    """For every line of the files in scope the tests that run it, with their times."""

    def __init__(self) -> None:
        path = KEPT / "map.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        self.tests: dict[str, dict[str, Any]] = kept.get("tests", {})
        self.files: dict[str, str] = kept.get("files", {})  # test files, by hash
        self.sources: dict[str, str] = kept.get("sources", {})
        self.lines: dict[str, dict[int, set[str]]] = {
            file: {int(n): set(names) for n, names in lines.items()} for file, lines in kept.get("lines", {}).items()
        }
        self.modules: list[str] = kept.get("modules", [])

    def update(self) -> None:
        """Run the tests of files that are new or have changed since."""
        for file in list(self.sources):
            self.follow(file)
        now = {str(f.relative_to(ROOT)): sha(f.read_text()) for f in test_files()}
        stale = [file for file, mark in now.items() if self.files.get(file) != mark]
        gone = {name for name, test in self.tests.items() if test["file"] not in now or test["file"] in stale}
        for lines in self.lines.values():
            for names in lines.values():
                names -= gone
        self.tests = {name: test for name, test in self.tests.items() if name not in gone}
        if stale:
            print(f"measuring which lines the tests of {len(stale)} files run", flush=True)
            self.measure(stale)
        self.files = now
        self.save()

    def follow(self, file: str) -> None:
        """Lines may have moved since they were measured; a changed line has the tests of its neighbours."""
        path = ROOT / file
        if not path.exists():
            del self.sources[file]
            self.lines.pop(file, None)
            return
        old, new = self.sources[file], path.read_text()
        if old == new:
            return
        before, moved = self.lines.get(file, {}), defaultdict[int, set[str]](set)
        matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag == "equal":
                for i in range(b - a):
                    moved[c + i + 1] |= before.get(a + i + 1, set())
            else:
                near = set[str]().union(*(before.get(i + 1, set()) for i in range(max(a - 1, 0), b + 1)))
                for j in range(c, d):
                    moved[j + 1] |= near
        self.lines[file], self.sources[file] = dict(moved), new

    def measure(self, files: Sequence[str]) -> None:
        import coverage

        sources = {file: (ROOT / file).read_text() for file in in_scope(SCOPE)}
        with tempfile.TemporaryDirectory() as folder:
            settings, answers = Path(folder, "settings"), Path(folder, "answers")
            settings.write_text(
                f"[run]\nsource = {ROOT}/src/shoal\ndata_file = {folder}/lines\nparallel = true\npatch = _exit\n"
                "context = ${PYTEST_CURRENT_TEST-}\ndisable_warnings = no-data-collected, couldnt-parse\n"
            )
            env = {"COVERAGE_PROCESS_START": str(settings), "SHOAL_ANSWERS": str(answers), "SHOAL_MUTATE": "map"}
            options = ["-q", "-p", "no:cacheprovider", "-p", "tools.mutation.server", "-o", "addopts=" + addopts()]
            done = subprocess.run([sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, env=environment(env))
            if not answers.exists():
                raise SystemExit(f"the tests did not run (exit code {done.returncode})")
            said = json.loads(answers.read_text())
            self.tests |= said["tests"]
            self.modules = sorted({*self.modules, *said["modules"]})
            for name, test in said["tests"].items():
                if not test["passed"]:
                    print(f"  left out, it fails or is skipped: {name}")
            KEPT.mkdir(exist_ok=True)
            data = coverage.CoverageData(str(KEPT / "coverage"))
            data.erase()
            for part in Path(folder).glob("lines.*"):
                one = coverage.CoverageData(str(part))
                one.read()
                data.update(one)
            for file in sources:
                self.sources[file] = sources[file]
                lines = self.lines.setdefault(file, {})
                for number, contexts in data.contexts_by_lineno(str(ROOT / file)).items():
                    names = {c.rpartition(" (")[0] if c.endswith(")") and " (" in c else c for c in contexts}
                    lines.setdefault(number, set()).update((set(contexts) | names) & set(self.tests))

    def save(self) -> None:
        KEPT.mkdir(exist_ok=True)
        lines = {f: {n: sorted(names) for n, names in lines.items() if names} for f, lines in self.lines.items()}
        whole = {
            "tests": self.tests,
            "files": self.files,
            "sources": self.sources,
            "lines": lines,
            "modules": self.modules,
        }
        (KEPT / "map.json").write_text(json.dumps(whole))

    def tests_of(self, m: Mutant, budget: float, first: str = "") -> list[str]:
        """Tests to try: the last one that noticed, those of defaults for what runs on import, those of the module, then
        the quickest, unlike ones first.
        """
        lines = self.lines.get(m.file, {})
        names = lines.get(m.line, set()) if not m.on_import else set[str]()
        if not names:
            names = set[str]().union(*(lines.get(n, set()) for n in range(m.first, m.last + 1)))
        if not names:
            names = set[str]().union(*lines.values()) if lines else set()
        if m.on_import:
            names = names | {name for name, test in self.tests.items() if test["file"].endswith("test_defaults.py")}
        names = {name for name in names if self.tests[name]["passed"]}
        mirror = Path("tests", *Path(m.file).parts[2:-1], f"test_{Path(m.file).name}")

        alike: dict[str, int] = defaultdict(int)  # one set of parameters of every test comes before the next sets
        rank: dict[str, int] = {}
        for name in sorted(names, key=self.seconds):
            rank[name] = alike[name.partition("[")[0]]
            alike[name.partition("[")[0]] += 1

        def order(name: str) -> tuple[bool, bool, bool, int, float]:
            file = Path(self.tests[name]["file"])
            own = file in (Path(m.file), mirror)
            defaults = m.on_import and file.stem == "test_defaults"
            return name != first, not defaults, not own, rank[name], self.seconds(name)

        chosen: list[str] = []
        spent = 0.0
        for name in sorted(names, key=order):
            again = any(self.tests[before]["pool"] for before in chosen)  # one pool serves all of them
            spent += self.tests[name]["seconds"] if again else self.seconds(name)
            if chosen and spent > budget:
                break
            chosen.append(name)
        return chosen

    def seconds(self, name: str) -> float:
        test = self.tests[name]
        return float(test["seconds"]) + (POOL if test["pool"] else 0.0)


def test_files() -> list[Path]:
    """Every file with tests of its own or in docstrings, but for those that meet the scope only by the way."""
    found = (ROOT / "tests").rglob("test_*.py")
    near = [f for f in found if not f.relative_to(ROOT / "tests").parts[0].startswith(FAR)]
    return sorted([*near, *(ROOT / f for f in in_scope(SCOPE) if ">>>" in (ROOT / f).read_text())])


@lru_cache
def addopts() -> str:
    options: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"][
        "addopts"
    ]
    return " ".join(f'"{o}"' for o in options)


def environment(more: dict[str, str]) -> dict[str, str]:
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    return {**os.environ, **threads, "PYTHONPATH": path, "PYTHONHASHSEED": "0", **more}
