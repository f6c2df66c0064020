"""Federations with real processes on loopback: SuperLink, SuperNodes, TLS and node keys."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from tests.flower.real import DATA, LIMIT, away, events, learned, rounds, simulated, sites, until

from shoal.flower.keys import make_keys, make_site_key
from shoal.flower.policy import policy_text
from shoal.flower.rehearsal import NAME, Rehearsal, free_port
from shoal.flower.rehearse import learned_models, rehearse
from shoal.store.folder import Folder

pytestmark = pytest.mark.slow

SIX: dict[str, dict[str, str]] = {
    "fedavg": {},
    "flexcfl": {"groups": "2", "migration": "aligned", "drift": "swap-all:0.3"},
    "cfl": {"split_rounds": "1"},
    "ifca": {"groups": "2"},
    "wecfl": {"groups": "2"},
    "fedgsp": {"beta": "3", "alpha": "1"},
}


@pytest.mark.parametrize("name", SIX)
def test_groups_and_models_are_those_of_simulation(name: str, folder: Path) -> None:
    """`rehearse` compares the files of models, bit for bit; groups are compared here."""
    from tests.flower.grid import OPEN

    (folder / "policy.toml").write_text(policy_text(OPEN))
    lines: list[str] = []
    pairs = {**DATA, "rounds": "2", "lr": "0.1", **SIX[name]}
    out = rehearse([name], pairs, 3, folder, None, folder / "policy.toml", True, LIMIT, lines.append)
    assert lines[-1].startswith("simulation") and "the same bits" in lines[-1]
    assert (out / "groups.csv").read_text() == (folder / "simulation" / "groups.csv").read_text()
    summary = Folder(out).summary()
    assert summary is not None and summary["left_out"] == 0


def test_a_site_that_is_killed_comes_back(folder: Path) -> None:
    out, run = folder / "run", "fedavg rounds=6 lr=0.1 seed=1 eval_every=9"
    with Rehearsal(folder, sites(3), run, out, print) as federation:
        federation.submit(deadline=240.0)
        until(lambda: rounds(out) >= 1, "no round")
        federation.stop("site-2", signal.SIGKILL)
        until(lambda: events(out, "left out"), "the site was not missed")
        federation.start_site("site-2")
        federation.wait(LIMIT)
    assert {e["client"] for e in events(out, "left out")} == {"1", "4"}
    assert learned(out)[-1][0] == 6
    assert learned_models(out) == simulated(run, folder / "simulation", away(out))


def test_a_server_that_is_killed_resumes_to_the_same_digest(folder: Path) -> None:
    out, run = folder / "run", "flexcfl groups=2 rounds=3 lr=0.1 seed=1 migration=aligned checkpoint_every=1"
    with Rehearsal(folder, sites(3), run, out, print) as federation:
        federation.submit(deadline=240.0)
        until(lambda: rounds(out) >= 1, "no round")
        (process,) = federation.numbers("flwr-serverapp")
        os.kill(process, signal.SIGKILL)
        assert not (out / "summary.json").exists()
        federation.stop("run")
        federation.submit(deadline=240.0, resume=True)
        federation.wait(LIMIT)
    assert learned_models(out) == simulated(run, folder / "simulation")
    assert not events(out, "left out", "lost its memory")
    until(lambda: not federation.numbers(), "processes are left")


def test_a_superlink_that_is_killed_is_started_again_and_the_run_resumes(folder: Path) -> None:
    out, run = folder / "run", "fedavg rounds=3 lr=0.1 seed=1 momentum=0.9 momentum_memory=kept checkpoint_every=1"
    with Rehearsal(folder, sites(2), run, out, print) as federation:
        federation.submit(deadline=240.0)
        until(lambda: rounds(out) >= 1, "no round")
        federation.stop("superlink", signal.SIGKILL)
        until(lambda: not federation.numbers("flwr-serverapp"), "the server's app outlived its SuperLink")
        federation.stop("run")
        assert not (out / "summary.json").exists()
        federation.start_superlink()
        federation.submit(deadline=240.0, resume=True)
        federation.wait(LIMIT)
    assert learned_models(out) == simulated(run, folder / "simulation")


def test_strangers_are_refused(folder: Path) -> None:
    """A key that is not registered, none at all, another authority, no TLS: the SuperNode ends, and is not listed."""
    make_keys(folder / "other", ["127.0.0.1"], [])
    with Rehearsal(folder, {}, "fedavg", folder / "run", print) as federation:
        keys, address = folder / "keys", f"127.0.0.1:{federation.port}"
        make_site_key(keys, "stranger")
        ours = ["--root-certificates", str(keys / "ca.crt")]
        key = ["--auth-supernode-private-key", str(keys / "stranger.key")]
        kinds = {
            "unregistered": [*ours, *key],
            "keyless": ours,
            "wrong authority": ["--root-certificates", str(folder / "other" / "ca.crt"), *key],
            "plaintext": ["--insecure"],
        }
        for kind, words in kinds.items():
            more = ["--superlink", address, "--max-retries", "1", "--port", str(free_port())]
            federation.start(kind, ["flower-supernode", *more, *words])
        for kind in kinds:
            assert federation.processes[kind].wait(LIMIT) != 0, kind
        assert "stranger" not in federation.flwr("supernode", "list", NAME, "--format", "json")
        listed = json.loads(federation.flwr("supernode", "list", NAME, "--format", "json"))
        assert not [node for node in listed.get("nodes", []) if node.get("status") == "online"]
    assert federation.numbers() == []  # nothing that was started is left
