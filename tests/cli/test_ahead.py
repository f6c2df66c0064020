from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shoal.cli.ahead import get_ready, library, opening
from shoal.data.build import build_kept
from shoal.errors import BadInput
from shoal.setup.prepare import prepare


def built() -> int:
    """How often a federation was built since the cache was cleared."""
    return build_kept.cache_info().misses


def test_a_run_takes_the_federation_that_was_built_ahead() -> None:
    build_kept.cache_clear()
    get_ready(["fedavg", "data=digits", "partition=iid:clients=4", "seed=3", "rounds=1"])
    assert built() == 1
    plan = prepare("fedavg", "digits", None, {"partition": "iid:clients=4", "seed": 3}).plan
    assert built() == 1
    assert len(plan.federation.ids) == 4


def test_the_seed_of_the_data_goes_before_that_of_the_run() -> None:
    build_kept.cache_clear()
    get_ready(["seed=3", "data_seed=5"])
    build_kept("digits", None, 5)
    assert built() == 1


@pytest.mark.parametrize(
    "words",
    [["seed=0,1"], ["data=digits,synthetic"], ["settings.toml"], ["conf/settings"], ["data=csv:nowhere.csv:label=y"]],
)
def test_nothing_is_built_for_sweeps_files_of_settings_and_own_data(words: list[str]) -> None:
    build_kept.cache_clear()
    get_ready(words)
    assert built() == 0


@pytest.mark.parametrize("words", [["data=digit"], ["partition=no-such"], ["seed=x"]])
def test_what_is_wrong_is_left_to_the_run(words: list[str]) -> None:
    get_ready(words)


def test_words_that_cannot_be_read_are_told_at_once() -> None:
    with pytest.raises(BadInput, match="without spaces"):
        get_ready(["lr", "=", "0.1"])


def test_a_library_that_cannot_be_opened_is_left_to_whoever_needs_it(tmp_path: Path) -> None:
    with opening(tmp_path / "nowhere.so"):
        pass
    with opening(None):
        pass


@pytest.mark.skipif(library() is None or not Path("/proc/self/maps").exists(), reason="no such library here")
def test_the_library_is_there_before_torch_is_imported() -> None:
    code = (
        "import sys; from shoal.cli.ahead import library, opening\n"
        "with opening(library()): pass\n"
        "assert 'libtorch_cpu' in open('/proc/self/maps').read() and 'torch' not in sys.modules\n"
        "import torch; assert torch.ones(2).sum() == 2"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
