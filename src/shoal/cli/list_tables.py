"""How the records of the catalogue are laid out as tables."""

from __future__ import annotations

from typing import Any

from shoal.cli.catalogue import Entry

Rows = tuple[list[str], list[list[str]]]


def show(value: Any) -> str:
    """A default as one would type it.

    >>> show(2e9), show(None), show(True), show(0.03)
    ('2e9', '', 'true', '0.03')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}".replace("e+0", "e") if isinstance(value, float) else str(value)


def spelled(arguments: dict[str, Any]) -> str:
    """
    >>> spelled({"groups": 4, "path": None})
    'groups=4 path=...'
    """
    return " ".join(f"{key}={show(value) or '...'}" for key, value in arguments.items())


def of_algorithms(entries: list[Entry]) -> Rows:
    rows = []
    for e in entries:
        rows.append([e["name"], "", e["about"]])
        rows += [["", f"{k['name']}={show(k['default'])}", k["about"]] for k in e["keys"]]
    return ["name", "own keys", ""], rows


def of_keys(entries: list[Entry]) -> Rows:
    return ["key", "default", ""], [[e["name"], show(e["default"]), e["about"]] for e in entries]


def of_data(entries: list[Entry]) -> Rows:
    rows = []
    for e in entries:
        more = [f"arguments: {spelled(e['arguments'])}"] if e["arguments"] else []
        more += [f"default partition: {e['partition']}"] if e["partition"] else []
        rows.append([e["name"], "yes" if e["found"] else "no", "\n".join([e["about"], *more, e["where"]])])
    return ["name", "here", ""], rows


def of_partitions(entries: list[Entry]) -> Rows:
    return ["name", ""], [[e["name"], f"{e['about']}\n{spelled(e['arguments'])}"] for e in entries]


def of_models(entries: list[Entry]) -> Rows:
    rows = []
    for e in entries:
        count = f"{e['parameters']:,}" if e["parameters"] else "by data"
        rows.append([e["name"], count, " ".join([e["about"], spelled(e["arguments"])]).strip()])
    return ["name", "parameters", ""], rows


def of_tasks(entries: list[Entry]) -> Rows:
    """The score stands first among the figures that are measured."""
    rows = []
    for e in entries:
        others = [name for name in e["metrics"] if name != e["score"]]
        rows.append([e["name"], e["score"], f"{e['about']}\nalso measured: {', '.join(others)}"])
    return ["name", "score", ""], rows


def of_metrics(entries: list[Entry]) -> Rows:
    return ["name", "better", "of", ""], [
        [e["name"], e["better"], ", ".join(e["targets"]) or "all", e["about"]] for e in entries
    ]


def of_engines(entries: list[Entry]) -> Rows:
    return ["name", ""], [[e["name"], e["about"]] for e in entries]


def of_trackers(entries: list[Entry]) -> Rows:
    rows = [[e["name"], "yes" if e["found"] else "no", f"{e['about']}\n{e['where']}"] for e in entries]
    return ["name", "here", ""], rows


LAYOUTS = {
    "algorithms": of_algorithms,
    "keys": of_keys,
    "data": of_data,
    "partitions": of_partitions,
    "models": of_models,
    "tasks": of_tasks,
    "metrics": of_metrics,
    "aggregators": of_partitions,
    "engines": of_engines,
    "trackers": of_trackers,
}
