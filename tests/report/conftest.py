"""Small real runs to report on, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.records import HOSTILE

import shoal
from shoal.data.federation import Federation


@pytest.fixture(scope="session")
def hostile() -> Federation:
    """Twelve clients in two planted groups, whose names and sites look like HTML."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(3, 6))
    names = [*HOSTILE, *(f"c{i:02d}" for i in range(8))]
    arrays, tags = {}, {}
    for i, name in enumerate(names):
        y = rng.integers(0, 3, 40)
        arrays[name] = ((centres[y] + rng.normal(size=(40, 6))).astype(np.float32), (y + i % 2) % 3)
        tags[name] = {"site": HOSTILE[i % 2]}
    made = Federation.from_arrays(arrays, test=0.25, name="hostile", tags=tags)
    return replace(made, truth=np.array([names.index(c) % 2 for c in made.ids]))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, hostile: Federation) -> dict[str, Path]:
    """One folder per run, all next to each other."""
    folder = tmp_path_factory.mktemp("report")
    common: dict[str, Any] = {"rounds": 4, "lr": 0.1, "epochs": 2, "selection": "all", "engine": "serial"}
    own: dict[str, dict[str, Any]] = {
        "fedavg": {},
        "flexcfl": {"groups": 2, "drift": "swap-all:0.2", "pretrain_steps": 5},
        "cfl": {"split_rounds": "1+2+3"},
        "wecfl": {"groups": 2, "clusterability_every": 2},
        "given": {"by": "site"},
    }
    for name, keys in own.items():
        shoal.run(name, hostile, out=folder / name, **common, **keys)
    return {name: folder / name for name in own}


PATIENCE = 600_000  # milliseconds after which a page is given up: against a test that hangs, not a measure of speed


@pytest.fixture(scope="module")  # its event loop must not outlive the module
def browser() -> Iterator[Any]:
    """Chromium, headless."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium to open pages with")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, timeout=PATIENCE, args=arguments)
        yield started
        started.close()
