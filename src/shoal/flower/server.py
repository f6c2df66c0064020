"""The ServerApp of a federation: an ordinary run with an ordinary run folder, whose clients are at real sites."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flwr.serverapp import ServerApp

import shoal
from shoal.errors import BadInput, RunFolderError
from shoal.flower.app_files import THEIRS
from shoal.flower.backend import Flower
from shoal.flower.federation import LivingSites
from shoal.flower.nodes import Nodes
from shoal.layout import ModelFactory
from shoal.loop.plan import Plan, RoundResult
from shoal.observers import Observer
from shoal.store import checkpoint
from shoal.store.folder import Folder
from shoal.tree import Kind, Shape, tree_map
from shoal.ui.headless import metrics_at

__all__ = ["ServerConfig", "play", "server_app"]

MARK = "federation.json"  # in the run folder; see Mark


@dataclass(frozen=True)
class ServerConfig:
    """What the run config of an app says.

    Args:
        run: The words of `shoal run`, without data: `flexcfl groups=3 rounds=20`.
        out: The run folder, with its full path.
        resume: Go on with the run in the folder.
        sites: Sites to wait for before the run begins.
        wait: Seconds to wait for them, and for the first one to come back if all have left.
        deadline: Seconds that a site may take for a call, the start of its process and the queue included.
        poll: Seconds between two looks for answers.
        metrics: Where to answer Prometheus while the run is on, such as 127.0.0.1:9464; by default nowhere.

    >>> config = ServerConfig.of({"run": "ifca groups=2 rounds=3", "out": "/srv/runs/first"})
    >>> config.algorithm, config.pairs
    ('ifca', {'per_class': False, 'groups': '2', 'rounds': '3'})
    """

    run: str
    out: str
    resume: bool = False
    sites: int = 1
    wait: float = 600.0
    deadline: float = 600.0
    poll: float = 0.5
    metrics: str = ""

    @classmethod
    def of(cls, run_config: Mapping[str, Any]) -> ServerConfig:
        """From the run config of Flower.

        Args:
            run_config: Flat keys and values.

        Returns:
            The configuration, checked.
        """
        given = {key: run_config[key] for key in cls.__dataclass_fields__ if key in run_config}
        if not given.get("out") or not Path(str(given["out"])).is_absolute():
            raise BadInput('the run config needs out="/FULL/PATH" of a run folder, which the server writes')
        config = cls(run=str(given.pop("run", "fedavg")), **given)
        stray = [key for key in config.pairs if key in THEIRS]
        if stray:
            raise BadInput(f"{stray[0]} is a matter of the sites, which have the data; leave it out of run")
        if "out" in config.pairs:
            raise BadInput("out is a key of the run config by itself; leave it out of run")
        return config

    @property
    def algorithm(self) -> str:
        return next((word for word in shlex.split(self.run) if "=" not in word), "fedavg")

    @property
    def pairs(self) -> dict[str, Any]:
        words = [word.partition("=") for word in shlex.split(self.run) if "=" in word]
        return {"per_class": False, **{key: value for key, _, value in words}}


@dataclass(frozen=True)
class Mark:
    """What a resumed run must know before it meets its sites.

    Args:
        run: By which name sites know the run.
        shape: Of one input.
        dtype: Of its numbers.
        classes: That the model tells apart, whoever of the sites is there; 0: the folder does not say it.
    """

    run: str
    shape: Shape = ()
    dtype: Kind = ""
    classes: int = 0


class Bookkeeping(Observer):
    """Notes the mark of the run and its sites in its folder, and tells sites which versions a checkpoint needs.

    Args:
        backend: The sites.
        nodes: Who they are.
        out: The run folder.
        mark: Of the run.
    """

    def __init__(self, backend: Flower, nodes: Nodes, out: Path, mark: Mark) -> None:
        self._backend, self._nodes, self._out, self._mark = backend, nodes, out, mark

    def start(self, plan: Plan, label: str, begin: int) -> None:
        self._backend.saved = checkpoint.memories(Folder(self._out), plan) if begin else {}
        write_mark(self._out, self._mark)
        self._nodes.attendance.open(self._out, begin)

    def after_round(self, result: RoundResult) -> None:
        saved = [int(path.stem.partition("_")[2]) for path in checkpoint.saved(self._out / "checkpoints")]
        self._backend.remember(result.round, min(saved, default=0))
        self._nodes.attendance.round_over(result.events, self._nodes.hosts)


def play(grid: Any, config: ServerConfig, model: ModelFactory | None = None) -> shoal.Run:
    """Run a federation, or go on with one.

    Args:
        grid: Flower's.
        config: Of the run.
        model: Makes the model, if it is none that has a name.

    Returns:
        The run.
    """
    with metrics_at(config.metrics, Path(config.out)):
        return played(grid, config, model)


def played(grid: Any, config: ServerConfig, model: ModelFactory | None) -> shoal.Run:
    """The run by itself."""
    out = Path(config.out)
    nodes = Nodes(grid, config.deadline, config.poll)
    before = read_mark(out) if config.resume else Mark(secrets.token_hex(8))
    if before.classes:
        nodes.expect(before.shape, before.dtype, before.classes)
    nodes.wait(config.sites, config.wait)
    federation, backend = LivingSites(nodes, config.wait), Flower(nodes, before.run)
    mark = Mark(before.run, federation.shape, federation.dtype, federation.classes)
    observers = [Bookkeeping(backend, nodes, out, mark)]
    if config.resume:
        return shoal.resume(
            out, federation=federation, model=model, engine=backend, observers=observers, progress=False
        )
    pairs = config.pairs
    named = pairs.pop("model", None)
    if model is not None and named is not None:
        raise BadInput(f"model={named} is given, and the app has a model of its own; leave one out")
    own: dict[str, Any] = {"out": out, "engine": backend, "observers": observers, "progress": False}
    return shoal.run(config.algorithm, federation, model or named, **own, **pairs)


def read_mark(out: Path) -> Mark:
    """What the folder of a federation's run says; before there were classes, it named the run alone."""
    try:
        found = json.loads((out / MARK).read_text())
        shape: Shape = tree_map(lambda sizes: tuple(map(int, sizes)), found.get("shape", []))
        return Mark(str(found["run"]), shape, tree_map(str, found.get("dtype", "")), int(found.get("classes", 0)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise RunFolderError(f"{out} holds no run of a federation that could go on: {e}") from e


def write_mark(out: Path, mark: Mark) -> None:
    """Write it down, all or nothing."""
    partial = out / f".{MARK}.partial"
    partial.write_text(json.dumps(asdict(mark)) + "\n")
    partial.rename(out / MARK)


def server_app(model: ModelFactory | None = None) -> Any:
    """The ServerApp of a federation.

    Args:
        model: Makes the model; None: `model=` in the words of the run names one of Shoal's.

    Returns:
        Flower's ServerApp.

    >>> type(server_app()).__name__
    'ServerApp'
    """
    app = ServerApp()

    @app.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Any) -> None:
        run = play(grid, ServerConfig.of(context.run_config), model)
        print(f"shoal: {run.summary['rounds']} rounds, in {run.folder}", flush=True)

    return app
