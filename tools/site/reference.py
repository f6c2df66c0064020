"""The reference: a page per area, with every public name, made from docstrings when the site is built."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import types
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.site.links import REPOSITORY, ROOT

import shoal
from shoal.registry import Registry

MARK = "<!-- reference -->"  # docs/api.md has it where the tables go
AREAS = {  # page: title, what it is about, the packages of shoal whose public names it shows
    "run": (
        "Running",
        "Start, continue and compare runs, and use what they learnt.",
        ("experiment", "analysis", "store"),
    ),
    "data": ("Data", "Federations of your own, data sets and partitions.", ("data",)),
    "methods": ("Methods", "The algorithms as classes, with their settings, and how to add one.", ("algorithms",)),
    "parts": (
        "Parts",
        "What methods are made of: solvers, selection, aggregators, models.",
        ("solvers", "selection", "aggregators", "models", "types", "clusterers", "measures", "tasks", "layout", "net"),
    ),
    "scores": (
        "Tasks and metrics",
        "What is learnt, and by which figure it is judged.",
        ("objectives", "metrics", "scores"),
    ),
    "watch": ("Watching", "Observers of a run, and errors.", ("observers", "errors", "loop", "report", "version")),
}


PACKAGES = (
    "types",
    "tasks",
    "solvers",
    "selection",
    "aggregators",
    "measures",
    "clusterers",
    "layout",
    "table",
    "seeds",
    "data",
)


def home(name: str) -> str:
    """The module that a public name comes from; of a registry, which is an object, the one that it is imported from.

    >>> home("Federation"), home("FedAvg"), home("model"), home("__version__")
    ('shoal.data.federation', 'shoal.algorithms.fedavg', 'shoal.models', 'shoal.version')
    """
    if name == "__version__":
        return "shoal.version"
    thing = getattr(shoal, name)
    return str(thing.__module__) if inspect.isclass(thing) or inspect.isfunction(thing) else shoal._HOME[name]


def areas(names: list[str]) -> dict[str, list[str]]:
    """Public names by the page that shows them, in the order of the areas; a package without one is an error.

    >>> areas(["run", "FedAvg", "Random", "ShoalError"])
    {'run': ['run'], 'methods': ['FedAvg'], 'parts': ['Random'], 'watch': ['ShoalError']}
    """
    of_package = {package: area for area, (_, _, packages) in AREAS.items() for package in packages}
    found: dict[str, list[str]] = {area: [] for area in AREAS}
    for name in names:
        found[of_package[home(name).split(".")[1]]].append(name)
    return {area: members for area, members in found.items() if members}


def pages() -> dict[str, str]:
    """The pages of all public names: path below docs to Markdown."""
    return {f"api/{area}.md": page(area, names) for area, names in areas(list(shoal.__all__)).items()}


def package_pages() -> dict[str, str]:
    """The same for the packages that methods of one's own are made from."""
    return {f"api/shoal.{package}.md": package_page(package) for package in PACKAGES}


def package_page(package: str) -> str:
    module = import_module(f"shoal.{package}")
    about = " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
    lines = [f"# shoal.{package}", "", about, ""]
    for name in module.__all__:
        thing = getattr(module, name)
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and name not in shoal.__all__:
            told = [
                k for k, value in vars(thing).items() if k[0] != "_" and isinstance(value, CALLED) and value.__doc__
            ]
            lines += [f"::: shoal.{package}.{name}", "    options:", f"      toc_label: {name}"]
            lines += [f"      members: {json.dumps(told if inspect.isclass(thing) else [])}", ""]
    return "\n".join(lines)


def page(area: str, names: list[str]) -> str:
    title, about, _ = AREAS[area]
    lines = [f"# {title}", about, "", *table(names, ""), ""]
    for name in names:
        lines += [*entry(name), ""]
    return "\n".join(lines)


def table(names: list[str], page: str) -> list[str]:
    """Names with their first sentences."""
    rows = [f"| [`shoal.{name}`]({page}#{anchor(name)}) | {summary(name)} |" for name in names]
    return ["| name | what it is |", "| --- | --- |", *rows]


def index(text: str) -> str:
    """docs/api.md with tables of all names in place of the mark."""
    lines: list[str] = []
    for area, names in areas(list(shoal.__all__)).items():
        title, about, _ = AREAS[area]
        lines += [f"## [{title}](api/{area}.md)", "", about, "", *table(names, f"api/{area}.md"), ""]
    links = " · ".join(f"[`shoal.{package}`](api/shoal.{package}.md)" for package in PACKAGES)
    lines += ["## For methods of your own", "", f"What [they are made from](extend.md), package by package: {links}."]
    return text.replace(MARK, "\n".join(lines))


def anchor(name: str) -> str:
    """Where a name stands on its page.

    >>> anchor("run"), anchor("__version__")
    ('shoal.run', 'shoal.version')
    """
    return f"shoal.{name.strip('_')}"


def title(path: str) -> str:
    """What a page of the reference is called.

    >>> title("api/run.md")
    'Running'
    """
    return AREAS[path.removeprefix("api/").removesuffix(".md")][0]


def summary(name: str) -> str:
    """The first sentence of a docstring, fit for a cell."""
    if name == "__version__":
        return "The version of the package, as text."
    if isinstance(getattr(shoal, name), Registry):
        return f"Declares {a(getattr(shoal, name).kind)}, and lists those that are there."
    return (inspect.getdoc(getattr(shoal, name)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def entry(name: str) -> list[str]:
    """One name: its heading, docstring and, for a method, the settings it has besides those of every run."""
    if name == "__version__":
        return [
            f"## `shoal.__version__` {{ #{anchor(name)} }}",
            "",
            f"{summary(name)} This page is of {shoal.__version__}.",
        ]
    thing = getattr(shoal, name)
    if isinstance(thing, Registry):
        return registry(name, thing)
    lines = [f"::: shoal.{name}", "    options:", f"      toc_label: shoal.{name}"]
    lines += [f"      members: {json.dumps(methods(thing))}"]
    own = settings(thing)
    if own:
        lines += ["", "| setting | default | what it does |", "| --- | --- | --- |"]
        lines += [f"| `{key}` | `{default}` | {help} |" for key, (default, help) in own.items()]
    source = Path(str(inspect.getsourcefile(thing))).relative_to(ROOT).as_posix()
    return [*lines, "", f"[Source]({REPOSITORY}/blob/main/{source})"]


def registry(name: str, things: Registry[Any]) -> list[str]:
    """An object that declares and lists things of a kind."""
    lines = [f"## `shoal.{name}` {{ #{anchor(name)} }}", "", f'`@shoal.{name}("NAME")` above a function or class:']
    lines += [
        f"from then on it is {a(things.kind)} by that name, in Python and on the command line. A mapping besides:"
    ]
    lines += [f'`list(shoal.{name})` has the names, `shoal.{name}["NAME"]` what was declared. How, with examples:']
    lines += ["[Extending Shoal](../extend.md).", "", "There are: " + ", ".join(f"`{key}`" for key in things) + "."]
    return lines


def methods(thing: Any) -> list[str]:
    """What users call on a class, which comes first, and on its objects; nothing of records and parts.

    >>> methods(shoal.Observer)[:2], methods(shoal.SGD), methods(shoal.run)
    (['start', 'note'], [], [])
    """
    if thing not in WHOLE:
        return []
    found = [(key, value) for key, value in vars(thing).items() if key[0] != "_" and isinstance(value, CALLED)]
    return [key for key, _ in sorted(found, key=lambda pair: not isinstance(pair[1], classmethod))]


WHOLE = (shoal.Federation, shoal.Observer, shoal.Run)
CALLED = (types.FunctionType, classmethod, staticmethod, property, functools.cached_property)


def a(kind: str) -> str:
    """A noun with its article.

    >>> a("model"), a("aggregator")
    ('a model', 'an aggregator')
    """
    return f"an {kind}" if kind[0] in "aeio" else f"a {kind}"


def settings(thing: Any) -> Mapping[str, tuple[str, str]]:
    """The fields that were declared with a help text: key to default and help."""
    if not dataclasses.is_dataclass(thing):
        return {}
    fields = {f.name: f for f in dataclasses.fields(thing) if "help" in f.metadata}
    return {k: (spelled(f.default), str(f.metadata["help"]).replace("|", "\\|")) for k, f in fields.items()}


def spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
