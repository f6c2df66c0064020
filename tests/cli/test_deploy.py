"""`shoal deploy`: what it writes, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal

from shoal.flower.policy import default_policy, read_policy


def test_an_app_is_written_that_flower_accepts(shoal: Shoal, tmp_path: Path) -> None:
    done = shoal("deploy", "init", str(tmp_path / "app"), "ifca", "groups=2", "out=/srv/run", "--sites", "4")
    assert done.exit_code == 0
    project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())
    config = project["tool"]["flwr"]["app"]["config"]
    assert (config["run"], config["out"], config["sites"]) == ("ifca groups=2", "/srv/run", 4)
    assert shoal("deploy", "init", str(tmp_path / "app")).exit_code == 2
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    from flwr.common.config import validate_config

    valid, errors, warnings = validate_config(project, check_module=False)
    assert (valid, errors, warnings) == (True, [], [])


def test_the_app_of_a_site_does_without_torch(tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    code = "import sys\nfrom shoal.flower import client_app\nclient_app()\nimport shoal.flower.resident\n"
    code += "from shoal.flower import client_app as again\nassert callable(again)\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == ["False"]


def test_the_policy_can_be_read_again(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(shoal("deploy", "policy").stdout)
    assert read_policy(tmp_path / "policy.toml") == default_policy()


def test_keys_are_made_once(shoal: Shoal, tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    words = ("deploy", "keys", str(tmp_path / "keys"), "--host", "fl.example.org", "--host", "10.0.0.1")
    assert "keep it off line" in shoal(*words, "--site", "north").stdout
    before = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    shoal(*words, "--site", "north", "--site", "south")
    after = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"south.key", "south.pub"}
    assert after["south.pub"].startswith(b"ecdsa-sha2-nistp384 ")
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "keys").glob("*.key")} == {0o600}
    from cryptography import x509

    ca, server = (x509.load_pem_x509_certificate(after[name]) for name in ("ca.crt", "server.crt"))
    server.verify_directly_issued_by(ca)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fl.example.org"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]


def test_a_certificate_is_renewed_by_the_same_authority(shoal: Shoal, tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    words, keys = ("deploy", "keys", str(tmp_path / "keys"), "--host", "fl.example.org"), tmp_path / "keys"
    shoal(*words)
    before = {path.name: path.read_bytes() for path in keys.iterdir()}
    (keys / "server.crt").unlink()
    assert shoal(*words).exit_code == 0
    after = {path.name: path.read_bytes() for path in keys.iterdir()}
    assert after.keys() == before.keys() and {n for n in after if after[n] != before[n]} == {"server.crt"}
    from cryptography import x509

    ca, server = (x509.load_pem_x509_certificate(after[name]) for name in ("ca.crt", "server.crt"))
    server.verify_directly_issued_by(ca)
    for name in ("server.crt", "ca.key"):
        (keys / name).unlink()
    done = shoal(*words)
    assert done.exit_code == 2 and "one of ca.crt and ca.key" in done.stderr
    assert (keys / "ca.crt").read_bytes() == before["ca.crt"]


def test_an_app_takes_no_words_of_sites_and_keeps_no_run_in_itself(shoal: Shoal, tmp_path: Path) -> None:
    done = shoal("deploy", "init", str(tmp_path / "app"), "fedavg", "data=digits")
    assert done.exit_code == 2 and "data is a matter of the sites" in done.stderr
    done = shoal("deploy", "init", str(tmp_path / "app"), "fedavg", f"out={tmp_path / 'app' / 'run'}")
    assert done.exit_code == 2 and "is sent to every site" in done.stderr
    assert shoal("deploy", "init", str(tmp_path / "app")).exit_code == 0
    config = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    assert config["out"] == str(tmp_path / "app-run")


def test_a_rehearsal_that_cannot_be_is_refused_at_once(shoal: Shoal) -> None:
    pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")
    for words, reason in (
        (("fedavg", "ifca"), "one algorithm"),
        (("fedavg", "workers=2"), "workers has no place"),
        (("fedavg", "partition=iid:clients=2", "--sites", "3"), "2 clients for 3 sites"),
    ):
        done = shoal("deploy", "rehearse", *words)
        assert done.exit_code == 2 and reason in done.stderr
