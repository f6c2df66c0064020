"""Figures of one benchmark beside those of another: ratios, since machines differ; and a line per benchmark to keep."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import BadInput

Document = Mapping[str, Any]
Speeds = dict[tuple[str, str], float]
NOTABLE = 0.1  # a smaller change of a ratio is not told apart from noise


def speeds(document: Document) -> Speeds:
    """How fast each contender of each workload was, larger is faster: against the plain loop, or against FedAvg.

    The plain loops themselves are left out.

    >>> line = {"name": "shoal run", "ratio": 80.0}
    >>> grouped = {"workload": "W1", "results": [{"name": "IFCA", "times_fedavg": 2.0}]}
    >>> speeds({"workloads": [], "whole": [{"workload": "W1", **line}], "clustered": [grouped]})
    {('W1 whole', 'shoal run'): 80.0, ('W1 clustered', 'IFCA'): 0.5}
    """
    found: Speeds = {}
    for w in document.get("workloads", ()):
        found |= {(w["workload"], r["name"]): r["ratio"] for r in w["results"] if not r["name"].startswith("plain")}
    for w in document.get("whole", ()):
        found[f"{w['workload']} whole", w["name"]] = w["ratio"]
    for w in document.get("clustered", ()):
        found |= {(f"{w['workload']} clustered", r["name"]): 1 / r["times_fedavg"] for r in w["results"]}
    return found


def different_rounds(document: Document) -> dict[str, int]:
    """How many different rounds each workload plays, where the document says it."""
    return {w["workload"]: w["rounds"] for w in document.get("workloads", ()) if "rounds" in w}


def read_earlier(path: Path, quick: bool) -> Document:
    """The document of an earlier `shoal bench --format json`; a sentence if it is none, or of another kind."""
    hint = "give a file that `shoal bench --format json` wrote"
    try:
        found = json.loads(path.read_text())
    except OSError as e:
        raise BadInput(f"cannot read {path}: {e.strerror or e}; {hint}") from e
    except ValueError as e:
        raise BadInput(f"{path} holds no JSON document; {hint}") from e
    try:
        if not speeds(found):
            raise BadInput(f"{path} times no workload that could be compared; {hint} with W1 to W8, whole or clustered")
        was_quick = bool(found["quick"])
    except (AttributeError, KeyError, TypeError, ZeroDivisionError) as e:
        raise BadInput(f"{path} is not the output of a benchmark; {hint}") from e
    if was_quick != quick:
        made = ("without", "with")
        raise BadInput(
            f"{path} was made {made[was_quick]} --quick and cannot be compared with a benchmark {made[quick]} it; run "
            "both alike"
        )
    assert isinstance(found, dict)
    return found


def against(path: Path, before: Document, now: Document) -> dict[str, Any]:
    """What changed for every workload and contender that both documents have."""
    then, here = speeds(before), speeds(now)
    played, plays = different_rounds(before), different_rounds(now)
    return {
        "file": str(path),
        "changes": [change(*where, then[where], here[where]) for where in here if where in then],
        "only_here": [" ".join(where) for where in here if where not in then],
        "other_rounds": [name for name in plays if played.get(name, plays[name]) != plays[name]],
    }


def change(workload: str, name: str, before: float, now: float) -> dict[str, Any]:
    """Two speeds and what to say of them.

    >>> change("W1", "shoal", 50, 56)["verdict"], change("W1", "shoal", 50, 54)["verdict"]
    ('faster', 'alike')
    >>> change("W1", "shoal", 50, 45.1)["verdict"], change("W1", "shoal", 50, 44)["verdict"]
    ('alike', 'slower')
    """
    by = now / before - 1
    verdict = "alike" if abs(by) <= NOTABLE else "faster" if by > 0 else "slower"
    return {"workload": workload, "name": name, "before": before, "now": now, "change": by, "verdict": verdict}


def history_line(document: Document) -> dict[str, Any]:
    """What is kept of a benchmark: when, of which code, on what, and how fast everything was."""
    ratios: dict[str, dict[str, float]] = {}
    for (workload, name), speed in speeds(document).items():
        ratios.setdefault(workload, {})[name] = round(speed, 4)
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": commit(Path(shoal.__file__)),
        "version": document["machine"]["shoal"],
        "machine": {k: v for k, v in document["machine"].items() if k != "shoal"},
        "repeats": document["repeats"],
        "quick": document["quick"],
        "ratios": ratios,
    }


def commit(source: Path) -> str | None:
    """The commit of a checkout to which a file belongs, marked if something in its folder changed; None: no checkout.

    What lies elsewhere, such as results that came in since, is not the code.
    """

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=source.parent, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", source.name)  # an installed package may lie inside a checkout of others
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def append(path: Path, line: Mapping[str, Any] | None = None) -> None:
    """Add a line to a history; without one, only see that it could be added."""
    try:
        with path.open("a") as file:
            file.write("" if line is None else f"{json.dumps(line)}\n")
    except OSError as e:
        raise BadInput(f"cannot write {path}: {e.strerror or e}; give --history a file that can be written") from e
