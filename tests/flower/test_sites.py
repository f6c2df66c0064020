"""The files of docs/sites as they are: a door that lets sites in and nothing else, units of systemd, compose files."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from tests.flower.real import DATA, LIMIT, events, simulated, until

from shoal.data.build import build
from shoal.errors import ShoalError
from shoal.flower.policy import default_policy, policy_text
from shoal.flower.rehearsal import Rehearsal, free_port, listens
from shoal.flower.rehearse import learned_models
from shoal.seeds import Key

FILES = Path(__file__).parents[2] / "docs" / "sites"
GUIDE = FILES.parent / "deploy.md"
yaml = pytest.importorskip("yaml")  # flwr needs it
UNITS = ("superlink.service", "supernode.service")


def exec_start(unit: str) -> str:
    """The command of a unit, in one line."""
    (found,) = re.findall(r"^ExecStart=((?:.*\\\n)*.*)$", (FILES / unit).read_text(), re.MULTILINE)
    return re.sub(r"\s*\\\n\s*", " ", found)


def environment(unit: str) -> dict[str, str]:
    lines = re.findall(r"^Environment=(.*)$", (FILES / unit).read_text(), re.MULTILINE)
    return dict(word.split("=", 1) for line in lines for word in line.split())


# ----------------------------------------------------------------------------------------------------------------------


class Guided(Rehearsal):
    """A rehearsal by the files of the guide: their text with paths, ports and names of this machine."""

    def __init__(self, folder: Path, sites: dict[str, dict[str, str]], run: str) -> None:
        super().__init__(folder, sites, run, folder / "run", print)
        self.door = free_port()
        self._environment["PATH"] = self.here(environment("supernode.service")["PATH"])  # Flower starts others by name

    def here(self, text: str, site: str = "nobody") -> str:
        """A text of the guide with the places of this machine."""
        places = {
            "fl.example.org:443": f"localhost:{self.door}",
            "listen 443": f"listen {self.door}",
            "fl.example.org": "localhost",
            "127.0.0.1:8000": f"127.0.0.1:{self.port}",
            "--port 8000": f"--port {self.port}",
            'name="north"': f'name="{site}"',
            "/opt/shoal/bin": str(Path(sys.executable).parent),
            "/etc/shoal/site.key": f"{self.folder}/keys/{site}.key",
            "/etc/shoal": f"{self.folder}/keys",
            "/srv/site": f"{self.folder}/srv/{site}",
            "/var/lib/shoal/site": str(self.state(site)),
            "/var/lib/shoal": str(self.folder),
        }
        for ours, theirs in places.items():
            text = text.replace(ours, theirs)
        return text

    def superlink_command(self) -> list[str]:
        return shlex.split(self.here(exec_start("superlink.service")))

    def site_command(self, site: str) -> list[str]:
        words = shlex.split(self.here(exec_start("supernode.service"), site))
        return [*words, "--port", str(free_port())]  # it has a machine of its own in the guide

    def start_superlink(self) -> None:
        super().start_superlink()
        (self.folder / "keys" / "policy.toml").write_text(policy_text(default_policy()))
        (self.home / "config.toml").write_text(
            self.here((FILES / "flwr.toml").read_text())
            + f'[superlink.rehearsal]\naddress = "127.0.0.1:{self.port}"\nroot-certificates = "{self.ca}"\n'
            + f'[superlink.outside]\naddress = "localhost:{self.door}"\nroot-certificates = "{self.ca}"\n'
        )
        whole = f"daemon off; pid {self.folder}/nginx.pid; error_log stderr; events {{}} http {{ {self.caches()}"
        whole += f"access_log {self.folder}/access.log; {self.here((FILES / 'nginx.conf').read_text())} }}"
        (self.folder / "nginx.conf").write_text(whole)
        self.start(
            "nginx",
            [str(shutil.which("nginx")), "-e", "stderr", "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")],
        )
        until(lambda: listens("127.0.0.1", self.door) or self._ended("nginx"), "nginx does not listen")

    def caches(self) -> str:
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        return " ".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in kinds)

    @property
    def ca(self) -> Path:
        return self.folder / "keys" / "ca.crt"

    def status(self, port: int, path: str, method: str = "POST") -> int:
        """What a request gives, its path as it is."""
        line = http.client.HTTPSConnection("localhost", port, context=ssl.create_default_context(cafile=self.ca))
        line.request(method, path, b"", {"Content-Type": "application/protobuf", "Accept": "application/protobuf"})
        status = line.getresponse().status
        line.close()
        return status


CONTROL = "/v1/control/list-runs"
AROUND = (  # ways to a path that the door does not have
    CONTROL,
    "/v1/runtime/get-nodes",
    "/",
    "/v1/fleet/../control/list-runs",
    "/v1/fleet/%2e%2e/control/list-runs",
    "/v1/fleet/..%2fcontrol/list-runs",
    "/v1/fleet/x/../../control/list-runs",
    "//v1/control/list-runs",
    "/v1//control/list-runs",
    "/V1/CONTROL/list-runs",
    "/docs",
    "/openapi.json",
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_sites_work_through_the_door_and_nothing_else_goes_through_it(folder: Path) -> None:
    run = "fedavg rounds=2 lr=0.1 seed=1"
    source = build(DATA["data"], DATA["partition"], Key(1))
    sites = [f"site-{s}" for s in (1, 2, 3)]
    for i, client in enumerate(source.ids):
        data = source.client(client)
        (x, y), (x_test, y_test) = data("train"), data("test")
        for place in (folder / "srv" / sites[i % 3], folder / "srv" / "all"):
            place.mkdir(parents=True, exist_ok=True)
            np.savez(place / f"{client}.npz", x=x, y=y, x_test=x_test, y_test=y_test)
    with Guided(folder, {site: {} for site in sites}, run) as federation:
        federation.submit(deadline=240.0)
        federation.wait(LIMIT)
        assert federation.status(federation.port, CONTROL) == 200
        assert {path: federation.status(federation.door, path) for path in AROUND} == dict.fromkeys(AROUND, 403)
        assert federation.status(federation.door, "/v1/fleet/pull-messages", "GET") == 403
        assert federation.status(federation.door, "/v1/fleet/pull-messages") == 401  # the SuperLink says so
        listed = json.loads(federation.flwr("supernode", "list", "here", "--format", "json"))
        assert [node["status"] for node in listed["nodes"]] == ["online"] * 3
        for words in (("supernode", "list", "outside"), ("ls", "outside"), ("run", str(folder / "app"), "outside")):
            with pytest.raises(ShoalError, match="403"):
                federation.flwr(*words)
    told = json.loads((folder / "run" / "sites.json").read_text())
    assert sorted(site["name"] for site in told["sites"]) == sites
    asked = (folder / "access.log").read_text()
    assert all(f'POST /v1/fleet/{what} HTTP/1.1" 200' in asked for what in ("pull-messages", "push-messages"))
    assert not events(folder / "run", "left out", "not admitted")
    keys = {"data": f"folder:{folder}/srv/all", "seed": "1"}
    assert learned_models(folder / "run") == simulated(run, folder / "simulation", data=keys)


# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_takes_the_units(unit: str, tmp_path: Path) -> None:
    text = (FILES / unit).read_text().replace("/opt/shoal/bin", str(Path(sys.executable).parent))
    for name, content in ((unit, text), (f"wrong-{unit}", text.replace("Restart=", "Restrat="))):
        (tmp_path / name).write_text(content)
        words = ["systemd-analyze", "verify", "--man=no", str(tmp_path / name)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        assert (name in done.stderr) == (name != unit), done.stderr


def compose(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FILES / name).read_text())["services"]
    return found


@pytest.mark.parametrize(
    ("file", "service"), [("compose-server.yaml", "superlink"), ("compose-site.yaml", "supernode")]
)
def test_containers_run_the_commands_of_the_units(file: str, service: str) -> None:
    """Which are those that the test above runs."""
    found, unit = compose(file)[service], f"{service}.service"
    assert found["command"] == shlex.split(exec_start(unit).replace("/opt/shoal/bin/", ""))
    assert {"PATH": environment(unit)["PATH"], **found["environment"]} == environment(unit)  # an image has its own
    inside = {volume.split(":")[1] for volume in found["volumes"]}
    named = {word for word in re.findall(r"/(?:etc|var/lib|srv)/[\w/.]+", " ".join(found["command"]))}
    assert [word for word in named if not any(Path(word).is_relative_to(place) for place in inside)] == []


def test_only_the_door_of_the_containers_is_reached_from_outside() -> None:
    services = compose("compose-server.yaml")
    assert services["superlink"]["ports"] == ["443:443"]  # where nobody but nginx listens
    assert services["door"]["network_mode"] == "service:superlink"
    assert "ports" not in services["door"]
    assert "ports" not in compose("compose-site.yaml")["supernode"]


@pytest.mark.parametrize("file", ["compose-server.yaml", "compose-site.yaml"])
def test_docker_takes_the_compose_files(file: str) -> None:
    words = ["docker", "compose", "-f", str(FILES / file), "config", "--quiet"]
    if (
        not shutil.which("docker")
        or subprocess.run([*words[:2], "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("docker compose is not installed")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("file", ["nginx.conf", "supernode.service", "flwr.toml"])
def test_the_guide_shows_the_files_as_they_are(file: str) -> None:
    assert f"\n{(FILES / file).read_text()}```" in GUIDE.read_text()
