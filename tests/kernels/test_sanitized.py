"""The tests of the kernels once more, against builds in which every access to memory is watched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.sanitize import MEMORY, THREADS, Unavailable, Watch, library

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("watch", "words"), [(MEMORY, []), (THREADS, ["--threads"])], ids=["memory", "threads"])
def test_the_kernels_run_clean_under_the_sanitizers(watch: Watch, words: list[str]) -> None:
    try:
        library(watch.library)
    except Unavailable as e:
        pytest.skip(str(e))
    done = subprocess.run(
        [sys.executable, "-m", "tools.sanitize", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
