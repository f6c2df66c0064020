"""The tracer of a run: a module counts when one of its functions is called, not when it is loaded."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import BaseModel
from tools.hops import Tracer

FIRST = """
from second import Named

def at_the_head(cls):
    return cls

@at_the_head
class SGD:
    def __call__(self):
        return Named()()
"""
SECOND = """
class Named:
    def __call__(self):
        return 1
"""


class Settings(BaseModel):
    rounds: int = 1


def test_calls_are_counted_and_loading_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "second.py").write_text(SECOND)
    monkeypatch.syspath_prepend(str(tmp_path))
    tracer, before = Tracer(f"{tmp_path}{os.sep}"), sys.getprofile()
    sys.setprofile(tracer)
    try:
        first = import_module("first")

        loaded = list(tracer.modules)
        Settings()
        solver = first.SGD()
        solver()
        Settings.model_validate({"rounds": 2})
        solver()
    finally:
        sys.setprofile(before)
        for name in ("first", "second"):
            sys.modules.pop(name, None)
    tracer.mark("end")
    assert loaded == []
    assert tracer.modules == ["first", "second"]
    step, end = tracer.marks["first training step"], tracer.marks["end"]
    assert (step[0], end[0]) == (1, 2)
    assert step[1]["settings checked"] == 1 and end[1]["settings checked"] == 2
    assert step[1]["models made"] == 0 and end[1]["models made"] == 2
    assert end[1]["training steps of a client"] == 2
