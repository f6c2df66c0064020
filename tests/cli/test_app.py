from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


LOOKING_AHEAD = "torch._dynamo torch._inductor torch.utils.flop_counter torch.onnx sympy"  # take seconds
SELDOM = "sklearn pandas matplotlib jinja2 plotly mlflow scipy.stats scipy.optimize scipy.ndimage scipy.sparse.linalg"


def modules_after(folder: Path, *words: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    code = "import sys, shoal.cli.app as a; a.app(sys.argv[1:], standalone_mode=False); print('modules', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, cwd=folder)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_a_run_imports_what_it_uses_and_who_reads_it_does_without_torch(tmp_path: Path) -> None:
    spared = set(f"{LOOKING_AHEAD} {SELDOM} shoal.report shoal.ui shoal.bench".split())
    found = modules_after(tmp_path, "run", "fedavg", "rounds=1", "engine=serial", "out=it")
    assert "torch" in found
    assert not found & spared
    assert not modules_after(tmp_path, "resume", "it", "rounds=2") & spared
    assert '"rounds": 2' in (tmp_path / "it" / "summary.json").read_text()
    found = modules_after(tmp_path, "compare", "it")
    assert "shoal.analysis.compare" in found
    assert not found & {"torch", *spared}
    found = modules_after(tmp_path, "report", "it")
    assert (tmp_path / "it" / "report.html").exists()
    assert not found & set(f"{LOOKING_AHEAD} sklearn pandas scipy.stats shoal.ui shoal.bench".split())


def test_a_run_with_groups_and_a_list_import_what_they_use(tmp_path: Path) -> None:
    spared = set(f"{LOOKING_AHEAD} {SELDOM} shoal.report shoal.ui shoal.bench".split())
    words = ["run", "flexcfl", "groups=2", "pretrain_steps=2", "rounds=2", "engine=serial", "out=it"]
    assert not modules_after(tmp_path, *words) & spared
    assert (tmp_path / "it" / "summary.json").exists()
    assert not modules_after(tmp_path, "list") & spared


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
