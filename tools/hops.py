"""What one command of Shoal goes through: the modules whose functions it enters, and how often it does what is dear.

Counted are calls while no module is being imported, so that a module counts when it works, not when it is loaded.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

STEP = "SGD.__call__"  # one client trains
MODEL = "Named.__call__"  # a module is made of the name of a model
SETTINGS = "Settings"  # the class of the settings; made by pydantic's constructor or by `model_validate`


@dataclass
class Tracer:
    """Watches calls of a tree; a mark is a moment of the run, with what was counted until then."""

    root: str
    modules: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    marks: dict[str, tuple[int, Counter[str]]] = field(default_factory=dict)
    loading: int = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """What `sys.setprofile` calls."""
        code = frame.f_code
        if event in ("call", "return") and code.co_name == "<module>":
            self.loading += 1 if event == "call" else -1
        if event != "call" or self.loading:
            return
        if code.co_filename.startswith(self.root) and code.co_filename.endswith(".py"):
            self.enter(code)
        elif code.co_name in ("__init__", "model_validate") and "pydantic" in code.co_filename:
            made = frame.f_locals.get("cls") or type(frame.f_locals.get("self"))
            self.counts["settings checked"] += getattr(made, "__name__", "") == SETTINGS

    def enter(self, code: CodeType) -> None:
        """A function of the package is called."""
        name = code.co_filename.removeprefix(self.root).removesuffix(".py")
        if name not in self.modules:
            self.modules.append(name)
        if code.co_qualname == STEP and "first training step" not in self.marks:
            self.mark("first training step")
        self.counts["training steps of a client"] += code.co_qualname == STEP
        self.counts["models made"] += code.co_qualname == MODEL

    def mark(self, name: str) -> None:
        self.marks[name] = (len(self.modules), Counter(self.counts))


def trace(src: Path, words: str) -> Iterator[str]:
    """Run a command, then `shoal report` on its folder, and tell what they went through.

    Args:
        src: The folder that holds the package; it must not have been imported from elsewhere.
        words: The command without `shoal`, a `run` of one algorithm. Runs in this process unless it names an engine.

    Returns:
        Lines to print: the modules until the first training step, until the end of the run, and with its report.
    """
    sys.path.insert(0, str(src.resolve()))
    from shoal.cli.app import app

    tracer = Tracer(f"{src.resolve()}{os.sep}shoal{os.sep}")
    engine = [] if "engine=" in words else ["engine=serial"]
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        for name, command in (
            ("end of the run", [*words.split(), *engine, f"out={run}"]),
            ("end of the report", ["report", run]),
        ):
            said = io.StringIO()
            sys.setprofile(tracer)
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    app(command, standalone_mode=False)
            finally:
                sys.setprofile(None)
            tracer.mark(name)
    yield f"shoal {words} {' '.join(engine)}".rstrip()
    what = ("settings checked", "models made", "training steps of a client")
    for name, seen_as in zip(what, (SETTINGS, MODEL, STEP), strict=True):
        if not tracer.counts[name]:
            yield f"no {name}: it happened in another process, or {seen_as} has another name now"
    yield f"{'until':<20}  {'modules entered':>15}  {'  '.join(what)}"
    for name, (modules, counts) in tracer.marks.items():
        yield f"{name:<20}  {modules:>15}  {'  '.join(f'{counts[w]:>{len(w)}}' for w in what)}"
    yield "in order of their first call:"
    ends = {number: name for name, (number, _) in tracer.marks.items()}
    for number, module in enumerate(tracer.modules, 1):
        yield f"  {number:3}  {module.replace(os.sep, '.')}" + (f"   <- {ends[number]}" if number in ends else "")
