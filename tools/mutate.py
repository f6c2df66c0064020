"""Changes Shoal in many small ways, one at a time, and asks the tests whether they notice: `make mutate`.

    python -m tools.mutate                               # everything in scope
    python -m tools.mutate --paths src/shoal/measures    # some files or folders
    python -m tools.mutate --sample 400 --seed 1         # so many mutants, always the same ones

Each mutant meets only the tests that run its lines, those of its own module first, then the quickest, until one fails.
Which test runs which line is measured once, and again for the files that have changed (`.mutate/map.json`). Verdicts
are kept (`.mutate/verdicts.json`) while the function and the test that noticed are the same. Results go to
`tools/mutants.json`; mutants that change nothing anybody could see stand in `tools/equivalent_mutants.toml`, with the
reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.mutation.changes import Mutant, mutants
from tools.mutation.jobs import Job, Verdict
from tools.mutation.line_map import KEPT, ROOT, SCOPE, Map, in_scope, sha

TOOLS = ROOT / "tools"


def mark_of(m: Mutant) -> str:
    """What a verdict depends on: the function or class that holds the mutant."""
    lines = (ROOT / m.file).read_text().splitlines()
    return sha("\n".join(lines[m.first - 1 : m.last]))


def still_holds(m: Mutant, verdict: Verdict, tests: Map) -> bool:
    """A mutant that was noticed still is, if neither the function nor the test that noticed has changed."""
    if verdict.get("status") != "killed" or verdict.get("mark") != mark_of(m):
        return False
    by = tests.tests.get(verdict["by"])
    return "::" not in verdict["by"] or (by is not None and tests.files[by["file"]] == verdict.get("test_mark"))


Listed = dict[str, list[dict[str, str]]]


def equivalents() -> Listed:
    """The mutants that change nothing, by file."""
    found: Listed = tomllib.loads((TOOLS / "equivalent_mutants.toml").read_text())
    return found


def reason(m: Mutant, listed: Listed) -> str | None:
    """Why a mutant changes nothing, if it is listed: by file, line and kind (`*`: all), and the change if given."""
    for e in listed.get(m.file, []):
        same = e["line"] == m.text and e["kind"] in (m.kind, "*")
        if same and e.get("before", m.before) == m.before and e.get("after", m.after) == m.after:
            return e["reason"]
    return None


def chosen(paths: Sequence[str], sample: int | None, seed: int) -> list[Mutant]:
    """The mutants, or a sample that depends on nothing but what they are and the seed."""
    found = [m for file in in_scope(paths) for m in mutants(ROOT, file)]
    if sample is None or sample >= len(found):
        return found
    taken = {m.name for m in sorted(found, key=lambda m: sha(f"{seed}|{m.name}"))[:sample]}
    return [m for m in found if m.name in taken]


def table(found: Sequence[Mutant], verdicts: dict[str, Verdict]) -> dict[str, Any]:
    """Numbers per file, and the mutants that nobody noticed."""
    listed = equivalents()
    modules: dict[str, dict[str, Any]] = {}
    for m in found:
        row = modules.setdefault(m.file, {"mutants": 0, "killed": 0, "equivalent": 0, "survivors": []})
        row["mutants"] += 1
        verdict = verdicts[m.name]
        if verdict["status"] == "killed":
            row["killed"] += 1
        elif reason(m, listed) is not None:
            row["equivalent"] += 1
        else:
            change = {"before": m.before, "after": m.after, "tests": verdict["tests"]}
            row["survivors"].append({"line": m.line, "kind": m.kind, "text": m.text, **change})
    total = {key: sum(row[key] for row in modules.values()) for key in ("mutants", "killed", "equivalent")}
    total["survivors"] = sum(len(row["survivors"]) for row in modules.values())
    rate = total["killed"] / max(total["killed"] + total["survivors"], 1)
    return {"total": total, "killed_of_not_equivalent": round(rate, 4), "modules": modules}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", nargs="+", default=SCOPE, help="files or folders; all in scope")
    parser.add_argument("--sample", type=int, help="so many mutants; all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants judged at once")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests that a mutant meets")
    parser.add_argument("--out", type=Path, default=TOOLS / "mutants.json")
    parser.add_argument("--least", type=float, default=0.95, help="share that must be killed for exit code 0")
    args = parser.parse_args()
    tests = Map()
    tests.update()
    found = chosen(args.paths, args.sample, args.seed)
    path = KEPT / "verdicts.json"
    verdicts: dict[str, Verdict] = json.loads(path.read_text()) if path.exists() else {}
    listed = equivalents()
    todo = [m for m in found if not still_holds(m, verdicts.get(m.name, {}), tests)]
    todo = [m for m in todo if reason(m, listed) is None or m.name not in verdicts]
    print(f"{len(found)} mutants, {len(todo)} to judge", flush=True)
    lock, queue = threading.Lock(), iter(todo)

    def work() -> None:
        job = Job(tests, args.budget)
        while True:
            with lock:
                m = next(queue, None)
            if m is None:
                break
            verdict = job.judge(m, verdicts.get(m.name, {}))
            by = tests.tests.get(verdict.get("by", ""))
            with lock:
                verdicts[m.name] = {**verdict, "mark": mark_of(m), "test_mark": by and tests.files[by["file"]]}
                if verdict["status"] != "killed" and reason(m, listed) is None:
                    said = f", {verdict['by']}" if verdict.get("by") else ""
                    change = f"{m.before[:90]}  ->  {m.after[:90]}"
                    print(f"survived {m.file}:{m.line} {m.kind} ({verdict['tests']} tests{said}): {change}", flush=True)
                path.write_text(json.dumps(verdicts))
        job.close()

    threads = [threading.Thread(target=work) for _ in range(args.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    of = (
        "all mutants"
        if args.sample is None
        else f"a sample of {len(found)} (--sample {args.sample} --seed {args.seed})"
    )
    result = {"of": f"{of} of {' '.join(args.paths)}", **table(found, verdicts)}
    args.out.write_text(json.dumps(result, indent=1) + "\n")
    for file, row in result["modules"].items():
        print(f"{file:50} {row['mutants']:5} mutants {row['killed']:5} killed {len(row['survivors']):4} survived")
    print(
        f"{result['total']}: {100 * result['killed_of_not_equivalent']:.1f} % killed of those that are not equivalent"
    )
    return 0 if result["killed_of_not_equivalent"] >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
