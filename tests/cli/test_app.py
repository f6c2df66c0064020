from __future__ import annotations

import subprocess
import sys

import pytest
from tests.cli.conftest import Shoal

from shoal.version import __version__


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, shoal.cli.app as a; a.app(['--help'], standalone_mode=False);"
        "sys.exit(repr({'torch', 'numpy', 'pydantic', 'sklearn', 'scipy'} & set(sys.modules)) if "
        "{'torch', 'numpy', 'pydantic', 'sklearn', 'scipy'} & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_names_commands_exit_codes_and_environment(shoal: Shoal) -> None:
    text = shoal("--help").stdout
    for word in ("run", "resume", "compare", "list", "partition", "fetch", "doctor", "version", "130", "SHOAL_DATA"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80


def test_version(shoal: Shoal) -> None:
    assert shoal("--version").stdout == shoal("version").stdout == f"shoal {__version__}\n"
    assert f'"{__version__}"' in shoal("version", "--format", "json").stdout


def test_usage_errors_are_wrong_input(shoal: Shoal) -> None:
    assert shoal("fly").exit_code == 2
    assert shoal("run", "--fast").exit_code == 2
    assert shoal("compare").exit_code == 2


@pytest.mark.parametrize("module", ["shoal", "shoal.cli"])
def test_python_runs_the_package_as_the_command(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "version"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"shoal {__version__}\n", 0), done.stderr


def test_a_command_that_is_not_there_is_suggested_once(shoal: Shoal) -> None:
    said = shoal("rnu").stderr
    assert said.count("did you mean 'run'?") == 1
    assert said.lower().count("did you mean") == 1
