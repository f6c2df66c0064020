"""Sites that cannot be reached for a while: stopped past the deadline, or cut off in a network of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from tests.flower.real import LIMIT, away, events, learned, rounds, simulated, sites, until

from shoal.flower.rehearsal import Rehearsal
from shoal.flower.rehearse import learned_models

pytestmark = pytest.mark.slow

SITE, ITS = "site-2", {"1", "4"}  # the site that is lost for a while, and its clients
DEADLINE = 240.0  # seconds: on a machine that has much else to do, messages are slow


def test_a_site_whose_process_is_stopped_past_the_deadline_is_late_and_then_used_again(folder: Path) -> None:
    """What its clients keep (momentum) goes on from the last round that counted, not from the one that came late."""
    out, run = folder / "run", "fedavg rounds=4 lr=0.1 seed=1 momentum=0.9 momentum_memory=kept eval_every=9"
    with Rehearsal(folder, sites(3), run, out, print) as federation:
        federation.submit(deadline=DEADLINE)
        until(lambda: rounds(out) >= 1, "no round")
        (number,) = federation.state(SITE).glob("*.pid")
        with stopped(int(number.read_text())):
            until(lambda: events(out, "left out"), "the site was not missed")
        federation.wait(LIMIT)
    late = events(out, "left out")
    assert {e["client"] for e in late} == ITS
    assert {e["reason"] for e in late} == {f"late: no answer within {DEADLINE:g} s"}
    assert {e["round"] for e in late} <= {2, 3}  # a round that had its answer already was not disturbed
    assert not events(out, "left", "lost its memory")
    assert learned(out)[-1][0] == 6
    assert learned_models(out) == simulated(run, folder / "simulation", away(out))


def test_a_site_whose_supernode_is_stopped_is_missed_and_then_used_again(folder: Path) -> None:
    with Rehearsal(folder, sites(3), ENDLESS, folder / "run", print) as federation:
        check(federation, stopped(federation.processes[SITE].pid))


def test_a_site_that_is_cut_off_in_its_own_network_is_missed_and_then_used_again(folder: Path, lan: Lan) -> None:
    """Three sites with addresses of their own; the cable of one is pulled, and put back."""
    federation = Apart(folder, sites(3), ENDLESS, folder / "run", print, lan.address)
    federation.lan = lan
    with federation:
        check(federation, lan.cut(SITE))


ENDLESS = "fedavg rounds=500 lr=0.1 seed=1 eval_every=999"  # how many rounds an outage lasts is not known before


def check(federation: Rehearsal, outage: AbstractContextManager[None]) -> None:
    """A federation goes on without the site, names it, takes it back, and learns what a simulation does."""
    out = federation.out
    federation.submit(deadline=DEADLINE)
    until(lambda: rounds(out) >= 1, "no round")
    with outage:
        until(lambda: events(out, "left out"), "the site was not missed")
        missed = rounds(out)
        until(lambda: rounds(out) >= missed + 2, "the federation does not go on without it")
    until(lambda: learned(out)[-1][0] == 6, "the site is not used again")
    found = learned(out)
    gone = away(out)
    assert {client for who in gone.values() for client in who} == ITS
    assert all(trained == 6 - len(gone[t]) for t, (trained, *_) in enumerate(found, 1))
    simulated(ENDLESS.replace("500", str(len(found))), federation.folder / "simulation", gone)
    assert found == learned(federation.folder / "simulation")


@contextmanager
def stopped(number: int) -> Iterator[None]:
    """A process does nothing meanwhile."""
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


# ----------------------------------------------------------------------------------------------------------------------


class Lan:
    """A bridge of this machine with an address, and for every site a network namespace that a cable joins to it."""

    def __init__(self, sites: Sequence[str]) -> None:
        self._bridge, self._part = f"sh{os.getpid() % 10**6}", os.getpid() % 250
        self.address = f"198.18.{self._part}.1"  # of a range that is kept for tests of networks
        self.names = {site: f"{self._bridge}s{i}" for i, site in enumerate(sites)}

    def lay(self) -> None:
        """Make all of it."""
        ip("link", "add", self._bridge, "type", "bridge")
        ip("addr", "add", f"{self.address}/24", "dev", self._bridge)
        ip("link", "set", self._bridge, "up")
        for i, name in enumerate(self.names.values()):
            ip("netns", "add", name)
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", name, "master", self._bridge, "up")
            ip("-n", name, "addr", "add", f"198.18.{self._part}.{i + 2}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", name, "link", "set", device, "up")
            ip("netns", "exec", name, "true")

    def remove(self) -> None:
        """Leave nothing behind, whatever there was."""
        for name in self.names.values():
            ip("netns", "delete", name, check=False)
            ip("link", "delete", name, check=False)  # it may outlive the namespace for a moment
        ip("link", "delete", self._bridge, check=False)

    @contextmanager
    def cut(self, site: str) -> Iterator[None]:
        """The cable of a site is pulled meanwhile."""
        ip("link", "set", self.names[site], "down")
        try:
            yield
        finally:
            ip("link", "set", self.names[site], "up")


class Apart(Rehearsal):
    """A rehearsal whose sites are in the namespaces of a `Lan`."""

    lan: Lan

    def start(self, name: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        inside = ["ip", "netns", "exec", self.lan.names[name]] if name in self.sites else []
        return super().start(name, [*inside, *words])


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


@pytest.fixture
def lan() -> Iterator[Lan]:
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip (iproute2)")
    made = Lan(list(sites(3)))
    try:
        made.lay()
        yield made
    except subprocess.CalledProcessError as e:
        pytest.skip(f"network namespaces are not allowed here: {e.stderr.strip()}")
    finally:
        made.remove()
