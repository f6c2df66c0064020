"""A federation on one machine, as it would be on several: a SuperLink, SuperNodes, TLS and node keys."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

from shoal.errors import BadInput, ShoalError
from shoal.flower.app_files import init_app
from shoal.flower.keys import make_keys
from shoal.scores import ACCURACY, Score
from shoal.store.folder import Folder

__all__ = ["Rehearsal"]

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
}
NAME = "rehearsal"  # of the connection in Flower's own config


class Rehearsal:
    """The processes of a federation on loopback. Used as a context, it ends all of them.

    Args:
        folder: Where everything goes: keys, the app, what sites keep, logs.
        sites: By name the node-config of each, without `state`.
        run: The words of the run.
        out: The run folder.
        tell: Is told what happens, line by line.
        host: The address of the SuperLink; another one than loopback's if sites have networks of their own.
    """

    def __init__(
        self,
        folder: Path,
        sites: Mapping[str, Mapping[str, Any]],
        run: str,
        out: Path,
        tell: Callable[[str], None],
        host: str = "127.0.0.1",
    ) -> None:
        self.folder, self.sites, self.out, self.tell = folder.absolute(), dict(sites), out.absolute(), tell
        self._run, self.host, self.port = run, host, free_port(host)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: list[IO[bytes]] = []
        self.home = self.folder / ".flwr"  # Flower's own; hidden, since its config.toml is none of a run
        self._environment = {**os.environ, **QUIET, "FLWR_HOME": str(self.home)}
        self._environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

    def __enter__(self) -> Self:
        keys = self.folder / "keys"
        make_keys(keys, [self.host, "localhost"], list(self.sites))
        self.tell(f"keys        {keys}: an authority, a certificate of the SuperLink, a key per site")
        init_app(self.folder / "app", self._run, self.out, len(self.sites))
        self.tell(f"app         {self.folder / 'app'}: what `flwr run` starts")
        self.home.mkdir(parents=True, exist_ok=True)
        address = f'address = "{self.host}:{self.port}"\nroot-certificates = "{keys / "ca.crt"}"\n'
        (self.home / "config.toml").write_text(f'[superlink]\ndefault = "{NAME}"\n\n[superlink.{NAME}]\n{address}')
        try:
            self.start_superlink()
            for site in self.sites:
                self.flwr("supernode", "register", str(keys / f"{site}.pub"), NAME)
                self.start_site(site)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for name in reversed(list(self.processes)):
            self.stop(name)
        for kind in (signal.SIGTERM, signal.SIGKILL):  # what Flower and sites started in sessions of their own
            for number in self.numbers():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, kind)
            with contextlib.suppress(ShoalError):
                wait_for(lambda: not self.numbers(), 15, "processes are left")
        for log in self._logs:
            log.close()

    def start_superlink(self) -> None:
        """Start the SuperLink, and wait until it listens."""
        self.start("superlink", self.superlink_command())
        address = self.host, self.port
        wait_for(lambda: listens(*address) or self._ended("superlink"), 120, "the SuperLink does not listen")
        self.tell(f"superlink   https://{self.host}:{self.port}, nodes must have a registered key")

    def superlink_command(self) -> list[str]:
        """The command of the SuperLink, word by word."""
        keys = self.folder / "keys"
        tls = {"certfile": "server.crt", "keyfile": "server.key", "ca-certfile": "ca.crt"}
        words = [word for key, file in tls.items() for word in (f"--ssl-{key}", str(keys / file))]
        words += ["--enable-supernode-auth", "--disable-runtime-dependency-installation"]
        words += ["--host", self.host, "--port", str(self.port), "--database", str(self.folder / "superlink.db")]
        return ["flower-superlink", *words]

    def start_site(self, site: str) -> None:
        """Start the SuperNode of a site.

        Args:
            site: Its name.
        """
        self.state(site).mkdir(parents=True, exist_ok=True, mode=0o700)
        self.start(site, self.site_command(site))
        self.tell(f"site        {site}: {self.node_config(site)}")

    def site_command(self, site: str) -> list[str]:
        """The command of a site's SuperNode, word by word."""
        words = ["--root-certificates", str(self.folder / "keys" / "ca.crt"), "--superlink", f"{self.host}:{self.port}"]
        words += ["--auth-supernode-private-key", str(self.folder / "keys" / f"{site}.key")]
        words += ["--host", "127.0.0.1", "--port", str(free_port()), "--node-config", self.node_config(site)]
        return ["flower-supernode", *words]

    def node_config(self, site: str) -> str:
        """The node-config of a site, as a SuperNode takes it."""
        config = {**self.sites[site], "state": str(self.state(site)), "name": site}
        return " ".join(f"{key}={json.dumps(value)}" for key, value in config.items())

    def state(self, site: str) -> Path:
        """The folder of a site's own."""
        return self.folder / "state" / site

    def submit(self, **config: Any) -> subprocess.Popen[bytes]:
        """Start the run; its log is `run.log`.

        Args:
            config: Keys of the run config that differ from the app's.

        Returns:
            The process of `flwr run`, which ends with the run.
        """
        words = [f"{key}={json.dumps(value)}" for key, value in config.items()]
        more = ["--run-config", " ".join(words)] if words else []
        return self.start("run", ["flwr", "run", str(self.folder / "app"), NAME, "--stream", *more])

    def wait(self, seconds: float) -> Mapping[str, Any]:
        """Wait for the run, and tell of every round.

        Args:
            seconds: For how long at most.

        Returns:
            The summary of the run.
        """
        told, end = 0, time.monotonic() + seconds
        while True:
            over = self.processes["run"].poll() is not None or time.monotonic() > end
            for line in rounds_of(self.out)[told:]:
                self.tell(line)
                told += 1
            if (self.out / "summary.json").is_file():
                found: Mapping[str, Any] = json.loads((self.out / "summary.json").read_text())
                return found
            if over:
                raise ShoalError(f"the run did not end well; see {self.folder / 'run.log'}: {self._last('run')}")
            time.sleep(0.2)

    def flwr(self, *words: str) -> str:
        """A command of Flower; what it said."""
        done = subprocess.run(
            [found("flwr"), *words], env=self._environment, capture_output=True, text=True, cwd=self.folder, check=False
        )
        if done.returncode:
            raise ShoalError(f"flwr {words[0]} failed: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.stdout

    def stop(self, name: str, how: int = signal.SIGTERM) -> None:
        """End a process and those it started.

        Args:
            name: `superlink`, `run` or a site.
            how: The signal.
        """
        process = self.processes.pop(name)
        for kind in (how, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, kind)  # each has a session of its own
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)

    def numbers(self, command: str = "") -> list[int]:
        """The processes of this rehearsal, whoever started them: known by Flower's home in their environment.

        Args:
            command: A part of their command line.

        Returns:
            Their numbers; none where the system does not tell (it is read from /proc).
        """
        mark, found = f"FLWR_HOME={self.home}".encode(), list[int]()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                ours = mark in (entry / "environ").read_bytes().split(b"\0")
                if ours and command.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return found

    def start(self, name: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command, which writes to `NAME.log` and is ended with the others.

        Args:
            name: What to call it.
            words: The command.

        Returns:
            Its process.
        """
        log = open(self.folder / f"{name}.log", "ab")  # noqa: SIM115  (closed at the end)
        self._logs.append(log)
        self.processes[name] = subprocess.Popen(
            [found(words[0]), *words[1:]],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            start_new_session=True,
        )
        return self.processes[name]

    def _ended(self, name: str) -> bool:
        if self.processes[name].poll() is not None:
            raise ShoalError(f"{name} ended: {self._last(name)}")
        return False

    def _last(self, name: str) -> str:
        lines = (self.folder / f"{name}.log").read_text(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "it said nothing"


def found(command: str) -> str:
    """Where a command of Flower is: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / command
    path = str(beside) if beside.exists() else shutil.which(command)
    if path is None:
        raise BadInput(f"there is no {command}; install with: pip install 'shoal[flower]'")
    return path


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody has."""
    with socket.socket() as door:
        door.bind((host, 0))
        return int(door.getsockname()[1])


def listens(host: str, port: int) -> bool:
    """Whether somebody listens at a port."""
    with socket.socket() as line:
        return line.connect_ex((host, port)) == 0


def wait_for(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until something is so, or say that it is not."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise ShoalError(f"{what} within {seconds:g} s")
        time.sleep(0.1)


def rounds_of(out: Path) -> list[str]:
    """A line for every round that is in a run folder; none while the server has not begun."""
    if not (out / "records.jsonl").is_file():
        return []
    history = Folder(out).history()
    return [said(row, history.score) for row in history]


def said(row: Mapping[str, Any], score: Score = ACCURACY) -> str:
    """A round in one line.

    >>> said({"round": 3, "trained": 4, "accuracy": 0.5, "left_out": 1, "groups": 2, "time": {"round": 7.2}})
    'round 3     4 trained, 1 left out, accuracy 50.0 %, 2 groups, 7 s'
    """
    parts = [f"{row['trained']} trained"] if "trained" in row else []
    parts += [f"{row['left_out']} left out"] if row.get("left_out") else []
    parts += [f"{score.title} {score.show(row[score.name])}"] if row.get(score.name) is not None else []
    parts += [f"{row['groups']} groups"] if row.get("groups", 1) > 1 else []
    parts.append(f"{row['time']['round']:.0f} s")
    return f"round {row['round']:<6}{', '.join(parts)}"
