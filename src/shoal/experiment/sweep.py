"""Several runs from one command: algorithms x every key with more than one value, in one folder."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.backends import Backend
from shoal.data.spec import Spec, parse
from shoal.errors import BadInput, RunFolderError, command
from shoal.experiment.api import resume, start
from shoal.experiment.trials import named
from shoal.observers import Observer, progress_line
from shoal.registry import near, trust
from shoal.registry.origins import Origin
from shoal.setup.options import split_keys
from shoal.setup.own import named as named_value
from shoal.setup.own import origins_of, recover_origins
from shoal.setup.prepare import build_plan, engine_key, open_backend
from shoal.setup.resolve import Resolved, resolve
from shoal.setup.settings import LISTS, needs_everybody
from shoal.store.folder import FREE, Folder
from shoal.store.place import fresh_path
from shoal.store.sweep_file import as_asked, runs_of_sweep

ObserverFactory = Callable[[str, int, int], Sequence[Observer]]  # name, number, how many -> who watches this run


@dataclass(frozen=True)
class Point:
    """One run of a sweep: the name of its folder, its algorithm and its keys."""

    name: str
    algorithm: str
    pairs: Mapping[str, Any]
    origins: Sequence[Origin] = ()  # of what is not Shoal's own

    @cached_property
    def resolved(self) -> Resolved:
        """The run that this asks for, its settings checked."""
        return resolve(self.algorithm, None, None, self.pairs)


def values(text: Any) -> list[Any]:
    """The values of a key, separated by commas; commas inside brackets belong to a value.

    >>> values("0,0.1,5"), values("synthetic(1,1),digits"), values(3)
    (['0', '0.1', '5'], ['synthetic(1,1)', 'digits'], [3])
    """
    if isinstance(text, list | tuple):
        return list(text)
    if not isinstance(text, str):
        return [text]
    return re.findall(r"(?:[^,(]|\([^)]*\))+", text) or [text]


def points(algorithms: Sequence[str], pairs: Mapping[str, Any]) -> list[Point]:
    """All runs of a sweep. A key that only some algorithms have varies only in those.

    An algorithm may be given several times, each with keys of its own: `flexcfl`, `flexcfl:eta_g=0.1`.

    >>> [p.name for p in points(["fedavg", "fedprox", "fedprox:mu=5"], {"mu": "0,1", "seed": "1,2"})][1:6]
    ['fedavg-seed=2', 'fedprox-mu=0-seed=1', 'fedprox-mu=0-seed=2', 'fedprox-mu=1-seed=1', 'fedprox-mu=1-seed=2']
    """
    specs = [parse(ALGORITHMS.named(word)) for word in dict.fromkeys(algorithms)]
    names = tuple(dict.fromkeys(spec.name for spec in specs))
    common, own = split_keys(names, pairs)
    if not {"selection", "clients_per_round"} & set(common) and any(map(needs_everybody, names)):
        common["selection"] = "all"  # one selection for all algorithms of a comparison
    found = []
    for spec in specs:
        mine = keys_of(spec)
        given = {**own[spec.name], **common, **mine}
        lists = {k: [named_value(k, one) for one in ([v] if k in LISTS else values(v))] for k, v in given.items()}
        varied = [key for key, several in lists.items() if len(several) > 1 or key in mine]
        for choice in itertools.product(*lists.values()):
            chosen = dict(zip(lists, choice, strict=True))
            name = plain_name(spec.name, {key: chosen[key] for key in varied})
            found.append(Point(name, spec.name, chosen))
    for point in found:
        _ = point.resolved
    return list({point.name: point for point in found}.values())


def plain_name(algorithm: str, keys: Mapping[str, Any]) -> str:
    """An algorithm with some of its keys, as a folder or file may be called.

    >>> plain_name("fedprox", {"mu": 1, "data": "synthetic:1:1"})
    'fedprox-mu=1-data=synthetic_1_1'
    """
    return re.sub(r"[^\w.,=+-]", "_", "-".join([algorithm, *(f"{key}={value}" for key, value in keys.items())]))


def keys_of(spec: Spec) -> Mapping[str, Any]:
    """The keys that stand behind the name of an algorithm."""
    if spec.args:
        raise BadInput(f"{spec} is not possible: keys go with their names, {spec.name}:KEY=VALUE")
    common, own = split_keys((spec.name,), spec.kwargs)
    return {**common, **own[spec.name]}


def sweep(
    algorithms: Sequence[str],
    *,
    out: str | Path | None = None,
    engine: str | Backend = "local",
    observers: ObserverFactory | None = None,
    progress: bool | None = None,
    **pairs: Any,
) -> list[Path]:
    """Run every combination; the folders of the runs. A list (or text with commas) gives a key several values.

    Args:
        algorithms: Names, also with settings of their own: `flexcfl:eta_g=0.1`.
        out: The folder that holds a folder per run; a new one below `runs` if left out.
        engine: As for `run`.
        observers: Makes the observers of each run.
        progress: Whether a line shows how far it is; None: on a terminal and in a notebook.
        pairs: Keys with one value or several.

    Returns:
        The folders of the runs, in order.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "local"], rounds=1, seed=[0, 1], engine="serial", out=tempfile.mkdtemp())
    >>> [p.name for p in paths]
    ['fedavg-seed=0', 'fedavg-seed=1', 'local-seed=0', 'local-seed=1']
    """
    if isinstance(algorithms, str):
        algorithms = [algorithms]
    strange = next((a for a in algorithms if not isinstance(a, str)), None)
    if strange is not None:
        raise BadInput(
            f"a sweep takes algorithms by name, such as 'fedprox:mu=0.1', not {type(strange).__name__}; "
            "run an object with shoal.run, and compare the folders with shoal.compare"
        )
    runs = points(algorithms, {**pairs, **engine_key(engine)})
    folder = Path(out) if out is not None else fresh_path("runs", "sweep")
    shown = progress_line(progress)

    def watching(name: str, number: int, total: int) -> Sequence[Observer]:
        own = observers(name, number, total) if observers else ()
        return own if shown is None else (*own, *shown.announce(name, number, total))

    return start_sweep(runs, folder, None if isinstance(engine, str) else engine, watching)


def start_sweep(
    runs: Sequence[Point], folder: Path, engine: Backend | None, observers: ObserverFactory | None
) -> list[Path]:
    """Write down what is to be run, then run it."""
    check(runs, folder)
    if (folder / "sweep.json").exists():
        raise RunFolderError(
            f"{folder} already holds a sweep; choose another out=, or go on with: {command('resume', folder)}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        planned = [planned_run(point, folder) for point in runs]
        (folder / "sweep.json").write_text(json.dumps(planned, indent=1) + "\n")
    except OSError as e:
        raise RunFolderError(
            f"cannot write the run folder {folder}: {e.strerror or e}; choose another one with out=DIR"
        ) from e
    return run_points(runs, folder, engine, observers)


def planned_run(point: Point, folder: Path) -> dict[str, Any]:
    """A run as sweep.json has it."""
    plain = {"name": point.name, "algorithm": point.algorithm, "pairs": dict(point.pairs)}
    found = near(origins_of({**point.pairs, "algorithm": point.algorithm}), folder)
    trust(found)
    return {**plain, "origins": found} if found else plain


def check(runs: Sequence[Point], folder: Path) -> None:
    """Prepare one run of every setting, so that what a user got wrong is said before anything is written."""
    for point in runs:
        check_taken(point, folder / point.name)
    distinct = {
        tuple(sorted((k, str(v)) for k, v in {**p.pairs, "": p.algorithm}.items() if k != "seed")): p for p in runs
    }
    for point in sorted(distinct.values(), key=lambda p: (str(p.pairs.get("data")), str(p.pairs.get("partition")))):
        build_plan(named(point.resolved, "fedavg"))


def check_taken(point: Point, path: Path) -> None:
    """A run that lies in a folder of the sweep already must be the one that the sweep asks for."""
    if not (path / "config.toml").exists():
        return
    there = as_asked(Folder(path).config())
    settings = point.resolved.settings.model_dump()
    wanted = {"algorithm": point.algorithm, **{k: settings.get(k, v) for k, v in point.pairs.items()}}
    for key, value in wanted.items():
        if key not in FREE and value is not None and str(there.get(key)) != str(value):
            raise RunFolderError(
                f"{path} holds a run with {key}={there.get(key)}, and the sweep asks for {key}={value}; "
                "move that folder away, or choose another out="
            )


def continue_sweep(
    folder: Path,
    engine: str | Backend | None = None,
    observers: ObserverFactory | None = None,
    workers: int | None = None,
    address: str | None = None,
) -> list[Path]:
    """Do what is left of a sweep."""
    runs = [Point(**entry) for entry in runs_of_sweep(folder)]
    distinct = {json.dumps(origin): origin for point in runs for origin in point.origins}
    recover_origins(list(distinct.values()), folder, "resume", folder)
    for point in runs:
        check_taken(point, folder / point.name)
    return run_points(runs, folder, engine, observers, workers, address)


def play(point: Point, path: Path, backend: Backend, observers: Sequence[Observer] = ()) -> None:
    """Begin a run, or go on with the one that lies there, until it has as many rounds as are asked for."""
    if not (path / "config.toml").exists():
        start(point.resolved, backend, path, observers)
        return
    asked, folder = point.resolved.settings.rounds, Folder(path)
    longer = asked if asked > folder.config()["rounds"] else None
    if longer is not None or folder.summary() is None:
        resume(path, engine=backend, rounds=longer, observers=observers, progress=False)


def run_points(
    runs: Sequence[Point],
    folder: Path,
    engine: str | Backend | None,
    observers: ObserverFactory | None,
    workers: int | None = None,
    address: str | None = None,
) -> list[Path]:
    """Run what is not complete yet, one after the other on one back end; the folders of all."""
    first = runs[0].resolved.settings
    address = address or (first.address if engine in (None, "ray") else None)
    with open_backend(engine or first.engine, workers or first.workers, address) as backend:
        for number, point in enumerate(runs, 1):
            path = folder / point.name
            play(point, path, backend, observers(point.name, number, len(runs)) if observers else ())
    return [folder / point.name for point in runs]
