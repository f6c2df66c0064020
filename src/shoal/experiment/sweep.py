"""Several runs from one command: algorithms x every key with more than one value, in one folder."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shoal.data.spec import Spec, parse
from shoal.engines import Backend
from shoal.errors import BadInput, RunFolderError
from shoal.experiment.api import resume, run
from shoal.experiment.callbacks import Observer
from shoal.experiment.config import needs_everybody, split_keys
from shoal.experiment.folder import Folder, fresh_path, planned
from shoal.experiment.prepare import make_backend, prepare, settings_of

Tell = Callable[[str, int, int], Sequence[Observer]]  # name, number, how many -> who watches this run


@dataclass(frozen=True)
class Point:
    """One run of a sweep: the name of its folder, its algorithm and its keys."""

    name: str
    algorithm: str
    pairs: Mapping[str, Any]


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
    specs = [parse(word) for word in dict.fromkeys(algorithms)]
    names = tuple(dict.fromkeys(spec.name for spec in specs))
    common, own = split_keys(names, pairs)
    if not {"selection", "clients_per_round"} & set(common) and any(map(needs_everybody, names)):
        common["selection"] = "all"  # one selection for all algorithms of a comparison
    found = []
    for spec in specs:
        given = {**own[spec.name], **common, **keys_of(spec)}
        lists = {k: [v] if k == "track" else values(v) for k, v in given.items()}
        varied = [key for key, several in lists.items() if len(several) > 1 or key in spec.kwargs]
        for choice in itertools.product(*lists.values()):
            chosen = dict(zip(lists, choice, strict=True))
            name = "-".join([spec.name, *(f"{key}={chosen[key]}" for key in varied)])
            found.append(Point(re.sub(r"[^\w.,=+-]", "_", name), spec.name, chosen))
    for point in found:
        settings_of(point.algorithm, point.pairs)
    return list({point.name: point for point in found}.values())


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
    tell: Tell | None = None,
    **pairs: Any,
) -> list[Path]:
    """Run every combination; the folders of the runs. A list (or text with commas) gives a key several values.

    >>> import shoal, tempfile
    >>> paths = shoal.sweep(["fedavg", "local"], rounds=1, seed=[0, 1], engine="serial", out=tempfile.mkdtemp())
    >>> [p.name for p in paths]
    ['fedavg-seed=0', 'fedavg-seed=1', 'local-seed=0', 'local-seed=1']
    """
    runs = points(algorithms, {**pairs, "engine": engine} if isinstance(engine, str) else pairs)
    check(runs)
    folder = Path(out) if out is not None else fresh_path("runs", "sweep")
    if (folder / "sweep.json").exists():
        raise RunFolderError(
            f"{folder} already holds a sweep; choose another out=, or go on with: shoal resume {folder}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sweep.json").write_text(json.dumps([asdict(p) for p in runs], indent=1) + "\n")
    except OSError as e:
        raise RunFolderError(
            f"cannot write the run folder {folder}: {e.strerror or e}; choose another one with out=DIR"
        ) from e
    return go_on(folder, engine, tell)


def check(runs: Sequence[Point]) -> None:
    """Prepare one run of every setting, so that what a user got wrong is said before anything is written."""
    distinct = {
        tuple(sorted((k, str(v)) for k, v in {**p.pairs, "": p.algorithm}.items() if k != "seed")): p for p in runs
    }
    for point in sorted(distinct.values(), key=lambda p: (str(p.pairs.get("data")), str(p.pairs.get("partition")))):
        prepare(point.algorithm, None, None, point.pairs)


def go_on(
    folder: Path, engine: str | Backend | None = None, tell: Tell | None = None, workers: int | None = None
) -> list[Path]:
    """Do what is left of a sweep."""
    runs = [Point(**entry) for entry in planned(folder)]
    first = settings_of(runs[0].algorithm, runs[0].pairs)[0]
    backend, ours = make_backend(engine or first.engine, workers or first.workers)
    try:
        for number, point in enumerate(runs, 1):
            path = folder / point.name
            observers = tell(point.name, number, len(runs)) if tell else ()
            if Folder(path).summary() is not None:
                continue
            if (path / "config.toml").exists():
                resume(path, engine=backend, observers=observers)
            else:
                pairs = {k: v for k, v in point.pairs.items() if k != "engine"}
                run(point.algorithm, out=path, engine=backend, observers=observers, **pairs)
    finally:
        if ours:
            backend.close()
    return [folder / point.name for point in runs]
