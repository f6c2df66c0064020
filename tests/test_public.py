"""Public is what `__all__` lists: importable, documented, and quick to import."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from typing import Any

import pytest

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.loop.history import History
from shoal.setup.options import PARTS
from shoal.types import Algorithm

PACKAGES = (
    "",  # shoal itself
    "aggregators",
    "analysis.advice",
    "analysis.balance",
    "analysis.compare",
    "analysis.measured",
    "analysis.probe",
    "analysis.quantities",
    "analysis.significance",
    "analysis.table",
    "backends",
    "clusterers",
    "costs",
    "data",
    "data.datasets",
    "data.drift",
    "data.partition",
    "data.preprocess",
    "data.signature",
    "engine",
    "errors",
    "experiment.automatic",
    "experiment.evidence",
    "experiment.result",
    "experiment.trials",
    "flower.app_files",
    "flower.attendance",
    "flower.policy",
    "flower.records",
    "flower.site",
    "flower.site_data",
    "flower.versions",
    "layout",
    "loop.history",
    "loop.plan",
    "loop.rounds",
    "measures",
    "metrics",
    "models",
    "net",
    "objectives",
    "observers",
    "report",
    "report.export",
    "report.figure",
    "seeds",
    "selection",
    "setup.options",
    "setup.prepare",
    "setup.resolve",
    "setup.settings",
    "solvers",
    "store.exported",
    "store.folder",
    "store.sites_file",
    "table",
    "tasks",
    "types",
)
METHODS = (shoal.Federation, shoal.Observer, shoal.Run, History)  # classes whose methods users call


def public(package: str) -> dict[str, Any]:
    """The functions and classes that a package lists."""
    module = importlib.import_module(f"shoal.{package}".rstrip("."))
    things = {name: getattr(module, name) for name in module.__all__}
    return {name: thing for name, thing in things.items() if inspect.isfunction(thing) or inspect.isclass(thing)}


def named(doc: str, head: str) -> list[str]:
    """The names that a section of a docstring explains."""
    return re.findall(r"^    (\w+): \S", section(doc, head), re.MULTILINE)


def section(doc: str, head: str) -> str:
    """What stands indented below a heading of a docstring."""
    found = re.search(rf"^{head}:\n((?:    .*\n?)+)", doc, re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.parametrize("name", shoal.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(shoal, name)
    assert name == "__version__" or ">>>" in thing.__doc__


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_and_classes_have_an_example(package: str) -> None:
    found = public(package)
    assert found
    assert [name for name, thing in found.items() if ">>>" not in (thing.__doc__ or "")] == []


@pytest.mark.parametrize(
    ("package", "name"), [(p, name) for p in PACKAGES for name, thing in public(p).items() if inspect.isfunction(thing)]
)
def test_functions_name_their_arguments_and_what_they_return(package: str, name: str) -> None:
    function = public(package)[name]
    doc = inspect.getdoc(function) or ""
    assert named(doc, "Args") == list(inspect.signature(function).parameters)
    assert section(doc, "Returns") or section(doc, "Yields")


@pytest.mark.parametrize(
    ("package", "name"), [(p, name) for p in PACKAGES for name, thing in public(p).items() if inspect.isclass(thing)]
)
def test_classes_name_their_fields(package: str, name: str) -> None:
    """Below `Args:`, or `Attributes:` where others make them; options of algorithms and settings carry a help text."""
    cls = public(package)[name]
    doc = inspect.getdoc(cls) or ""
    helped = {f.name for f in dataclasses.fields(cls) if "help" in f.metadata} if dataclasses.is_dataclass(cls) else {}
    described = {k for k, f in getattr(cls, "model_fields", {}).items() if f.description}
    if getattr(cls, "_is_protocol", False) or issubclass(cls, Exception):
        return
    wanted = [k for k in inspect.signature(cls).parameters if k not in (*helped, *described)]
    if issubclass(cls, Algorithm):
        wanted = [k for k in wanted if k not in PARTS]
    assert [*named(doc, "Args"), *named(doc, "Attributes")] == wanted


@pytest.mark.parametrize("cls", METHODS, ids=lambda cls: cls.__name__)
def test_methods_that_users_call_say_what_they_take(cls: type) -> None:
    """In a section of their docstring or, where a line is enough, in that line."""
    for name, method in inspect.getmembers(cls, lambda m: inspect.isfunction(m) or inspect.ismethod(m)):
        if not name.startswith("_") and method.__module__.startswith("shoal."):
            doc, takes = inspect.getdoc(method) or "", [k for k in inspect.signature(method).parameters if k != "self"]
            assert doc and (named(doc, "Args") == takes or len(doc.splitlines()) == 1), name


def test_nothing_else_is_public() -> None:
    classes = {cls.__name__ for cls in ALGORITHMS.values() if cls.__module__.startswith("shoal.")}
    assert set(shoal.__all__) == {*shoal._HOME, *classes, "__version__"}
    assert {"FedAvg", "NaiveGSPICG", "algorithm", "run"} <= set(shoal.__all__)
    with pytest.raises(AttributeError, match="no attribute 'FedNothing'"):
        _ = shoal.FedNothing
    with pytest.raises(AttributeError, match="no attribute 'fedavg'"):
        _ = shoal.fedavg


def test_importing_shoal_pulls_in_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "pydantic", "sklearn", "pandas", "ortools")
    code = f"import shoal, shoal.cli.app, sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_flow_solver_is_imported_when_it_is_needed() -> None:
    code = "import shoal.algorithms, shoal.experiment.api, sys; print('ortools' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
