"""The server's side of a federation: an ordinary run folder, and resume to the same bits."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import small_net

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from tests.flower.grid import LocalGrid, federation_of

import shoal
from shoal.analysis.advice import advise
from shoal.analysis.compare import compare
from shoal.backends import Serial
from shoal.data.build import build
from shoal.data.federation import Federation
from shoal.errors import BadInput, RunFolderError, ShoalError
from shoal.flower import server
from shoal.flower.loopback import LoopbackNode
from shoal.flower.rehearse import learned_models
from shoal.flower.server import Bookkeeping, ServerConfig, play
from shoal.loop.plan import RoundResult
from shoal.report import report
from shoal.seeds import Key
from shoal.store.folder import Folder, flatten
from shoal.store.sites_file import read_sites

KEPT = "flexcfl groups=2 pretrain_steps=6 migration=aligned momentum=0.9 momentum_memory=kept rounds=4 seed=2 batch=8"


def config(out: Path, run: str = KEPT, **more: Any) -> ServerConfig:
    return ServerConfig.of(
        {"run": run, "out": str(out), "sites": 3, "wait": 0.0, "deadline": 30.0, "poll": 0.0, **more}
    )


def sites(folder: Path, toy: Federation) -> LocalGrid:
    return federation_of(folder, lambda round: toy, model=small_net)[0]


def simulated(toy: Federation) -> shoal.Run:
    name, *words = KEPT.split()
    keys: dict[str, Any] = dict(word.split("=") for word in words)
    return shoal.run(name, toy, small_net, engine=Serial(), **keys)


def test_a_federation_leaves_an_ordinary_run_folder(toy: Federation, tmp_path: Path) -> None:
    run = play(sites(tmp_path, toy), config(tmp_path / "run"), small_net)
    assert run.serving.models_KP.tobytes() == simulated(toy).serving.models_KP.tobytes()
    folder = Folder(tmp_path / "run")
    summary = folder.summary()
    assert summary is not None and summary["rounds"] == 4 and summary["left_out"] == 0
    assert folder.config()["per_class"] is False
    assert len(folder.history()) == 5
    assert folder.config()["engine"] == "flower"
    (line,) = compare(tmp_path / "run")
    best = line.figures["best_accuracy"]
    assert best is not None and best.mean == summary["best_accuracy"]
    advise("flexcfl", flatten(folder.config()), folder.history())
    with pytest.raises(RunFolderError, match=r"federation of real sites; .* flwr run APP --run-config 'resume=true'"):
        shoal.resume(tmp_path / "run", rounds=5)
    again = shoal.load(tmp_path / "run", model=small_net)
    assert again.groups == run.groups and again.serving.models_KP.tobytes() == run.serving.models_KP.tobytes()
    pytest.importorskip("plotly")
    page = report(tmp_path / "run").read_text()
    assert "12 clients" in page and "Who is there" in page and "flwr run APP" in page


def test_prometheus_is_answered_while_a_run_is_on(
    toy: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    class Asking(Bookkeeping):
        def after_round(self, result: RoundResult) -> None:
            super().after_round(result)
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
                told.append(answer.read().decode())

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setattr(server, "Bookkeeping", Asking)
    monkeypatch.setattr("shoal.ui.runs.BREATH", 0.0)
    play(sites(tmp_path, toy), config(tmp_path / "run", "fedavg rounds=2", metrics=address), small_net)
    assert len(told) == 3
    assert 'shoal_rounds_total{run="run"} 1\n' in told[1] and 'shoal_rounds_total{run="run"} 2\n' in told[2]
    assert 'shoal_sites{run="run",state="online"} 3\n' in told[1]
    assert 'shoal_run_state{run="run",state="running"} 1\n' in told[1] and 'engine="flower"' in told[1]
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://{address}/metrics", timeout=60)


class Killed(BaseException):
    """The end of a process in the middle of something."""


class Mortal(LocalGrid):
    """A grid whose server dies with a message; what sites did meanwhile is done."""

    def __init__(self, grid: LocalGrid, messages: int) -> None:
        super().__init__()
        self.nodes, self.left = grid.nodes, messages

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        found = super().pull_messages(message_ids)
        self.left -= len(list(found))
        if self.left < 0:
            raise Killed
        return found


@pytest.mark.parametrize("messages", [30, 41, 55])
def test_a_server_that_is_killed_resumes_to_the_same_bits(toy: Federation, tmp_path: Path, messages: int) -> None:
    grid = sites(tmp_path, toy)
    with pytest.raises(Killed):
        play(Mortal(grid, messages), config(tmp_path / "run", KEPT + " checkpoint_every=1"), small_net)
    grid.nodes = {node + 500: site for node, site in grid.nodes.items()}  # they come back under other numbers
    for site in grid.nodes.values():
        site.start()
    before = len(Folder(tmp_path / "run").history())
    run = play(grid, config(tmp_path / "run", resume=True), small_net)
    assert 0 < before < 5
    assert run.serving.models_KP.tobytes() == simulated(toy).serving.models_KP.tobytes()
    events = (tmp_path / "run" / "events.jsonl").read_text()
    assert "lost its memory" not in events and "left out" not in events


class KilledIn(LocalGrid):
    """A grid whose server dies in a call, when the sites have done what they were asked."""

    def __init__(self, grid: LocalGrid, call: str) -> None:
        super().__init__()
        self.nodes, self._call = grid.nodes, call

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        sent = list(messages)
        ids = super().push_messages(sent)
        if any(message.metadata.group_id == self._call for message in sent):
            raise Killed
        return ids


def test_a_server_that_is_killed_twice_can_go_back_to_an_older_checkpoint(toy: Federation, tmp_path: Path) -> None:
    """Killed in round 3, when checkpoints 1 and 2 are there, and again when it goes on; then 2 turns out damaged."""
    grid, out = sites(tmp_path, toy), tmp_path / "run"
    with pytest.raises(Killed):
        play(KilledIn(grid, "3-1"), config(out, KEPT + " checkpoint_every=1"), small_net)
    with pytest.raises(Killed):
        play(KilledIn(grid, "3-1"), config(out, resume=True), small_net)
    saved = sorted(path.name for path in (out / "checkpoints").iterdir())
    assert saved == ["round_00000001.safetensors", "round_00000002.safetensors"]
    (out / "checkpoints" / saved[1]).write_bytes(b"damaged")
    run = play(grid, config(out, resume=True), small_net)
    assert "lost its memory" not in (out / "events.jsonl").read_text()
    assert run.serving.models_KP.tobytes() == simulated(toy).serving.models_KP.tobytes()


def always(federation: Federation) -> Callable[[int], Federation]:
    return lambda round: federation


def by_classes(folder: Path) -> LocalGrid:
    """Three sites with two clients each; of the classes 0, 1 and 2, the last one is at the third site alone."""
    rng, grid = np.random.default_rng(0), LocalGrid()
    for s, classes in enumerate((2, 2, 3)):
        x = rng.normal(size=(2, 24, 4)).astype(np.float32)
        arrays = {f"{s}{i}": (x[i], np.arange(24) % classes) for i in range(2)}
        (folder / f"site{s}").mkdir(parents=True)
        own = {"data": "digits", "state": str(folder / f"site{s}")}
        grid.nodes[100 + s] = LoopbackNode(100 + s, own, None, always(Federation.from_arrays(arrays, test=0.25)))
    return grid


def test_a_run_goes_on_without_the_site_that_has_the_most_classes(tmp_path: Path) -> None:
    """Nor do clients that are away keep it from going on: six were there, and six are asked each round."""
    grid, out = by_classes(tmp_path), tmp_path / "run"
    run = "fedavg rounds=3 model=mclr checkpoint_every=1 min_answers=5"
    with pytest.raises(Killed):
        play(KilledIn(grid, "2-0"), config(out, run), None)
    assert Folder(out).config()["clients_per_round"] == 6
    away = grid.nodes.pop(102)
    strange = grid.nodes[7] = by_classes(tmp_path / "strange").nodes[102]
    strange.load = always(Federation.from_arrays({"zoe": (np.zeros((24, 4), np.float32), np.arange(24) % 4)}))
    strange.start()
    done = play(grid, config(out, sites=2, resume=True), None)
    assert done.summary["rounds"] == 3 and done.plan.layout.classes == 3
    assert [row.get("trained", 0) for row in Folder(out).rows()] == [0, 6, 4, 4]
    seen = read_sites(out)
    assert seen is not None
    assert [s.reason for s in seen.sites if s.node == "7"] == ["it has 4 classes, the model knows 3"]
    grid.nodes[102] = away
    with pytest.raises(BadInput, match="a round asks 4 at most"):  # a new run needs as many as must answer
        play(by_two(grid), config(tmp_path / "new", run + " clients_per_round=6", sites=2), None)


def by_two(grid: LocalGrid) -> LocalGrid:
    grid.nodes = {node: grid.nodes[node] for node in (100, 101)}
    return grid


def test_models_that_a_federation_learnt_are_compared_and_not_what_files_say_of_data(tmp_path: Path) -> None:
    """Digits are whole numbers up to 16 in a simulation, and what sites make of them in a federation."""
    digits = build("digits", "permuted:clients=6", Key(1))
    grid, _ = federation_of(tmp_path / "sites", lambda round: digits, model=None)
    play(grid, config(tmp_path / "run", "fedavg rounds=1 model=mclr seed=1"), None)
    shoal.run("fedavg", digits, "mclr", rounds=1, seed=1, engine=Serial(), out=tmp_path / "one")
    shoal.run("fedavg", digits, "mclr", rounds=1, seed=2, engine=Serial(), out=tmp_path / "two")
    files = [(tmp_path / name / "models" / "group_0.safetensors").read_bytes() for name in ("run", "one")]
    assert files[0] != files[1]
    learnt, one, two = (learned_models(tmp_path / name) for name in ("run", "one", "two"))
    assert learnt == one != two


def test_the_folder_of_an_earlier_version_goes_on(toy: Federation, tmp_path: Path) -> None:
    """It named the run alone, and its engine was called local."""
    grid, out = sites(tmp_path, toy), tmp_path / "run"
    with pytest.raises(Killed):
        play(KilledIn(grid, "3-1"), config(out, KEPT + " checkpoint_every=1"), small_net)
    mark = json.loads((out / "federation.json").read_text())
    assert (mark["classes"], mark["shape"], mark["dtype"]) == (toy.classes, list(toy.shape), "float32")
    (out / "federation.json").write_text(json.dumps({"run": mark["run"]}))
    text = (out / "config.toml").read_text()
    (out / "config.toml").write_text(text.replace('engine = "flower"', 'engine = "local"'))
    (out / "sites.json").unlink()
    run = play(grid, config(out, resume=True), small_net)
    assert run.serving.models_KP.tobytes() == simulated(toy).serving.models_KP.tobytes()
    assert json.loads((out / "federation.json").read_text()) == mark


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"out": "runs/x"}, "out="),
        ({"out": "/x", "run": "fedavg data=mnist"}, "data is a matter of the sites"),
        ({"out": "/x", "run": "fedavg drift=swap-all:0.1"}, "drift is a matter of the sites"),
        ({"out": "/x", "run": "fedavg out=/y"}, "out is a key of the run config by itself"),
    ],
)
def test_a_run_config_that_cannot_be_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        ServerConfig.of(given)


def test_what_is_missing_is_said(toy: Federation, tmp_path: Path) -> None:
    with pytest.raises(ShoalError, match="0 of 1 sites came within 0 s"):
        play(LocalGrid(), config(tmp_path / "run", sites=1), small_net)
    with pytest.raises(RunFolderError, match="holds no run of a federation"):
        play(LocalGrid(), config(tmp_path / "none", resume=True), small_net)
    blind = LocalGrid()
    blind.nodes[1] = LoopbackNode(
        1, {"data": f"folder:{tmp_path / 'no'}", "state": str(tmp_path / "blind")}, None, None
    )
    with pytest.raises(
        ShoalError, match=r"0 of 1 sites came .* one was not admitted: failed: the data of the site cannot"
    ):
        play(blind, config(tmp_path / "run", sites=1), small_net)
    grid = sites(tmp_path, toy)
    with pytest.raises(BadInput, match="model=mlp is given, and the app has a model of its own"):
        play(grid, config(tmp_path / "run", "fedavg rounds=1 model=mlp"), small_net)
    with pytest.raises(BadInput, match="unknown algorithm 'fedagv'"):
        play(grid, config(tmp_path / "run", "fedagv rounds=1"), small_net)
    for node in grid.nodes.values():
        node.model = None
        node.start()
    with pytest.raises(ShoalError, match=r"client_app\(model=...\)"):
        play(grid, config(tmp_path / "run"), small_net)
