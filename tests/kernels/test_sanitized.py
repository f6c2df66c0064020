"""The tests of the kernels once more, against a build in which every access to memory is watched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.sanitize import Unavailable, library

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_kernels_run_clean_under_the_sanitizers() -> None:
    try:
        library()
    except Unavailable as e:
        pytest.skip(str(e))
    done = subprocess.run(
        [sys.executable, "-m", "tools.sanitize"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
