"""Judges mutants by processes that have everything loaded already."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tools.mutation.changes import Mutant
from tools.mutation.line_map import KEPT, ROOT, Map, environment

Verdict = dict[str, Any]


class Server:
    """A process that answers one request at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        ours, theirs = os.pipe()
        env = environment({"SHOAL_ANSWERS": str(theirs), "SHOAL_MUTATE": "serve"})
        log = (KEPT / "servers.log").open("a")
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            pass_fds=[theirs],
            text=True,
            stdout=log,
            stderr=log,
        )
        os.close(theirs)
        self.answers = os.fdopen(ours)
        if not self.answers.readline():
            raise SystemExit(f"the tests could not be collected: {' '.join(command)}")

    def ask(self, request: dict[str, Any]) -> Verdict:
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return dict(json.loads(self.answers.readline()))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Job:
    """Judges mutants one after the other, with the two servers it needs."""

    def __init__(self, tests: Map, budget: float) -> None:
        self.tests, self.budget = tests, budget
        self.servers: dict[str, Server] = {}
        self.killers: dict[tuple[str, str], str] = {}  # which test noticed the last mutant of a function

    def server(self, kind: str) -> Server:
        if kind not in self.servers:
            collected = ["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "tools.mutation.server"]
            collected += sorted(self.tests.files)
            fresh = ["-m", "tools.mutation.server", *self.tests.modules]
            self.servers[kind] = Server(collected if kind == "loaded" else fresh)
        return self.servers[kind]

    def judge(self, m: Mutant, before: Verdict) -> Verdict:
        place = (m.file, m.scope)
        killer = before.get("by", "") if before.get("by", "") in self.tests.tests else self.killers.get(place, "")
        names = self.tests.tests_of(m, self.budget, killer)
        if not names:
            return {"status": "survived", "by": "", "tests": 0, "seconds": 0.0}
        spent = sum(self.tests.seconds(name) for name in names)
        request = {"file": m.file, "name": m.name, "tests": names, "cpu": 15 + 4 * spent, "wall": 30 + 5 * spent}
        verdict = self.server("fresh" if m.on_import else "loaded").ask(request)
        if verdict["status"] == "fresh":
            verdict = self.server("fresh").ask(request)
        if verdict["status"] == "killed":
            self.killers[place] = verdict["by"]
        return {**verdict, "tests": len(names)}

    def close(self) -> None:
        for server in self.servers.values():
            server.close()
