"""How a site reads its data."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.flower.site_data import SiteConfig, SiteData

LOAD = """
import numpy as np
calls = []
def load():
    calls.append(0)
    return {"ann": (np.zeros((4, 2)), [0, 1, 0, 1]), "bob": (np.ones((4, 2)), [0, 1, 0, 1])}
def growing(round):
    calls.append(round)
    return {"ann": (np.zeros((10 + 10 * round, 2)), [0, 1] * (5 + 5 * round))}
def wrong():
    return [1, 2]
"""


def site(**config: object) -> SiteData:
    return SiteData(SiteConfig.of({"state": "/nowhere", **config}))


def test_a_folder_is_read_again_when_it_changes(tmp_path: Path) -> None:
    def write(n: int) -> None:
        np.savez(tmp_path / "ann.npz", x=np.zeros((n, 2)), y=np.arange(n) % 2, x_test=np.zeros((1, 2)), y_test=[0])
        os.utime(tmp_path / "ann.npz", ns=(n, n))

    write(4)
    data = site(data=f"folder:{tmp_path}")
    first = data.at(1)
    assert first.roster.sizes_N.tolist() == [4]
    assert data.at(2) is first
    write(6)
    assert data.at(2).roster.sizes_N.tolist() == [6]


def test_a_function_gives_arrays_and_one_with_an_argument_is_asked_every_round(tmp_path: Path) -> None:
    (tmp_path / "my_site_for_a_test.py").write_text(LOAD)
    path = tmp_path / "my_site_for_a_test.py"
    assert site(data=f"{path}:load").at(0).ids == ("ann", "bob")
    assert site(data=f"{path}:load", clients="bob, zoe").at(0).ids == ("bob",)
    growing = site(data=f"{path}:growing")
    assert [growing.at(t).roster.sizes_N.tolist() for t in (0, 0, 1)] == [[9], [9], [18]]
    with pytest.raises(BadInput, match="has no function 'lode'"):
        site(data=f"{path}:lode")
    with pytest.raises(BadInput, match="gives a Dataset, a Federation or arrays by client, not list"):
        site(data=f"{path}:wrong").at(0)
    with pytest.raises(BadInput, match="none of the clients that it is to host: zoe"):
        site(data=f"{path}:load", clients="zoe").at(0)


def test_what_a_node_config_lacks_is_said() -> None:
    with pytest.raises(BadInput, match="has no data"):
        SiteConfig.of({"state": "/x"})
    with pytest.raises(BadInput, match="has no state"):
        SiteConfig.of({"data": "digits", "partition-id": 3})
    assert SiteConfig.of({"data": "digits", "state": "/x", "seed": 3, "idle": 5}).idle == 5.0


def test_a_rehearsal_under_drift_has_the_data_of_the_simulation() -> None:
    import shoal

    words = {"data": "digits", "partition": "permuted:clients=4", "seed": 3}
    seen = []

    class Watch(Serial):
        def set_federation(self, federation: object) -> None:
            assert isinstance(federation, Federation)
            seen.append(federation.train.index.tolist())
            super().set_federation(federation)

    shoal.run("fedavg", rounds=3, engine=Watch(), drift="swap-all:0.5", **words)  # type: ignore[arg-type]
    data = site(**words, drift="swap-all:0.5")
    rounds = [data.at(t) for t in range(4)]
    ours = [f.train.index.tolist() for f in rounds if isinstance(f, Federation)]
    assert [index for index, _ in itertools.groupby(ours)] == seen  # a simulation is told when something changes
    assert len(seen) > 2
    with pytest.raises(BadInput, match="depends on the groups of a run"):
        site(**words, drift="swap-all:0.5:who=warm")
