"""The process of a site: started by the first message, one however many come at once, ended when idle."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.errors import BadInput, ShoalError
from shoal.flower.records import Asked, Hello, OwnModel, pack, unpack
from shoal.flower.resident import ask
from shoal.net import Arithmetic


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="shoal") as name:  # a socket's path must be short
        yield Path(name)


def node_config(folder: Path, **more: Any) -> dict[str, Any]:
    (folder / "data").mkdir()
    rng = np.random.default_rng(0)
    for client in ("ann", "bob"):
        np.savez(folder / "data" / f"{client}.npz", x=rng.normal(size=(10, 4)).astype(np.float32), y=np.arange(10) % 2)
    return {"data": f"folder:{folder / 'data'}", "state": str(folder / "state"), "idle": 2.0, **more}


def test_one_process_answers_and_ends_by_itself(folder: Path) -> None:
    config = node_config(folder)
    with ThreadPoolExecutor(3) as threads:
        said = list(threads.map(lambda _: unpack(ask(pack(Hello()), config)), range(3)))
    assert [site.sizes for site in said] == [{"ann": 9, "bob": 9}] * 3
    assert len(list((folder / "state").glob("*.sock"))) == 1
    strange = Asked("r", "0-0", OwnModel(), "", "float32", Arithmetic(), (), (), {}, {})
    assert unpack(ask(pack(strange), config)).outcomes == ()
    with pytest.raises(ShoalError, match="is asked by Hello or Asked, not by OwnModel"):
        ask(pack(OwnModel()), config)
    end = time.monotonic() + 60
    while list((folder / "state").glob("*.sock")):
        assert time.monotonic() < end, "it did not end"
        time.sleep(0.1)
    assert (folder / "state" / "secret").stat().st_mode & 0o777 == 0o600
    assert (folder / "state" / "site.log").read_text() == ""


def test_a_site_that_cannot_start_says_why(folder: Path) -> None:
    with pytest.raises(ShoalError, match=r"does not start: .*no_such_file.py"):
        ask(pack(Hello()), node_config(folder, data="/no_such_file.py:load"))
    with pytest.raises(BadInput, match="has no state"):
        ask(pack(Hello()), {"data": "digits"})
    with pytest.raises(BadInput, match="too long a name"):
        ask(pack(Hello()), {"data": "digits", "state": str(folder / ("x" * 99))})
