"""From names to federations, and what they look like."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shoal.data.build import build, describe, is_own, partition_named
from shoal.data.federation import Federation, OnDemand
from shoal.data.partition import PARTITIONS
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key


def test_digits_are_permuted_by_default() -> None:
    fed = build("digits", None, Key(1))
    assert isinstance(fed, Federation)
    assert len(fed.ids) == 20
    assert fed.truth is not None
    assert fed.truth.max() == 3
    assert fed.fingerprint() == build("digits", "permuted:4:20", Key(1)).fingerprint()
    assert fed.fingerprint() != build("digits", None, Key(2)).fingerprint()


def test_synthetic_is_produced_on_demand_unless_asked() -> None:
    assert isinstance(build("synthetic:1:1:clients=50", None, Key(1)), OnDemand)
    assert isinstance(build("synthetic(clients=5, memory=true)", None, Key(1)), Federation)
    with pytest.raises(BadInput, match="comes with its own clients"):
        build("synthetic", "iid", Key(1))


@pytest.mark.parametrize(
    ("data", "partition", "says"),
    [
        ("digitz", None, "unknown data set 'digitz'; did you mean 'digits'"),
        ("digits", "dirichelt", "unknown partition 'dirichelt'; did you mean 'dirichlet'"),
        ("digits", "dirichlet:aplha=1", "did you mean 'alpha'"),
        ("digits:3", None, "takes at most 0 arguments"),
        ("mnist:huge", None, "must be standard or unit or channel or symmetric"),
        ("digits", "dirichlet:alpha=0", "alpha must lie between"),
        ("digits", "power-law", "use at most 170 clients"),
        ("folder", None, "needs 'path'"),
    ],
)
def test_mistakes_are_said_in_one_sentence(data: str, partition: str | None, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        build(data, partition, Key(1))


def test_own_data_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "ann.npz", x=np.eye(10), y=np.arange(10))
    assert build(f"folder:{tmp_path}:test=0.2", None, Key(1)).roster.sizes_N.tolist() == [8]
    table = tmp_path / "t.csv"
    table.write_text("site,x,y,land\n" + "".join(f"{'ab'[i % 2]},{i}.5,{i % 3},L{i % 2}\n" for i in range(20)))
    fed = build(f"csv:{table}:client=site:label=y:tags=land", None, Key(1))
    assert fed.ids == ("a", "b")
    assert fed.classes == 3
    assert fed.roster.tags["b"] == {"land": "L1"}
    with pytest.raises(DataMissing, match="there is no folder"):
        build(f"folder:{tmp_path}/none", None, Key(1))


def test_features_of_a_table_can_be_named(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("client,age,note,dose,label\n" + "a,1,x,2,0\n" * 5)
    with pytest.raises(BadInput, match=r"column 'note' of t.csv holds 'x' in line 2"):
        build(f"csv:{table}", None, Key(1))
    assert build(f"csv:{table}:features=dose+age", None, Key(1)).sample().tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("data", "own"),
    [
        ("folder:/data/x", True),
        ("csv:t.csv:client=site", True),
        ('csv("t.csv", label=y)', True),
        ("digits", False),
        ("synthetic:1:1", False),
        ("nothing", False),
    ],
)
def test_own_data_is_told_apart(data: str, own: bool) -> None:
    assert is_own(data) is own


@pytest.mark.parametrize("name", PARTITIONS)
def test_every_partition_can_be_named(name: str) -> None:
    assert partition_named(name) == PARTITIONS[name]()


def test_describe_by_hand() -> None:
    """Ann has labels 0 0 1, bob 1: sizes 3 and 1, mean 2, deviation 1; (2 + 1) / 2 classes per client."""
    fed = Federation.from_arrays({"ann": (np.eye(3), [0, 0, 1]), "bob": (np.eye(3)[:1], [1])}, test=0.3)
    stats = describe(fed)
    assert (stats.clients, stats.train, stats.samples, stats.distinct) == (2, 3, 4, 4)
    assert (stats.mean, stats.std, stats.smallest, stats.median, stats.largest) == (2.0, 1.0, 1, 2.0, 3)
    assert stats.classes_per_client == 1.5
    assert stats.label_counts_NC.tolist() == [[2, 1], [0, 1]]
    assert stats.groups is None


def test_describe_counts_shared_samples_once() -> None:
    """Everybody tests on the same 179 digits: 1618 + 20 * 179 samples, 1797 of them distinct."""
    stats = describe(build("digits", None, Key(1)))
    assert (stats.train, stats.samples, stats.distinct) == (1618, 1618 + 20 * 179, 1797)
    assert stats.groups == (5, 5, 5, 5)


def test_describe_samples_large_populations() -> None:
    stats = describe(build("synthetic:clients=5000", None, Key(1)), sample=20)
    assert stats.clients == 5000
    assert stats.samples is None
    assert len(stats.looked_at) == len(stats.label_counts_NC) == 20


def test_mnist_by_default(real: Callable[[str], None]) -> None:
    real("mnist")
    fed = build("mnist", None, Key(1))
    assert len(fed.ids) == 1000
    assert fed.sample().shape == (1, 1, 28, 28)


def test_importing_the_data_layer_is_light() -> None:
    code = "import sys, shoal.data; print([m for m in ('torch', 'sklearn', 'pandas', 'PIL') if m in sys.modules])"
    path = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path}, check=True
    )
    assert done.stdout.strip() == "[]"
