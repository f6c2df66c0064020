"""Federations of `flwr_datasets`: a stand-in with the same interface, and the package itself where installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.data.federation import Federation
from shoal.errors import BadInput


class Image: ...


class ClassLabel: ...


class Part(dict[str, Any]):
    """The part of `datasets.Dataset` that is used."""

    features: dict[str, Any]

    @property
    def column_names(self) -> list[str]:
        return list(self)


class Partitioner:
    def __init__(self, parts: list[Part], names: dict[int, str] | None = None) -> None:
        self.parts = parts
        self.num_partitions = len(parts)
        if names:
            self.partition_id_to_natural_id = names

    def load_partition(self, partition_id: int) -> Part:
        return self.parts[partition_id]


class Federated:
    def __init__(self, **partitioners: Partitioner) -> None:
        self.partitioners = partitioners

    def load_partition(self, partition_id: int, split: str | None = None) -> Part:
        assert split is not None
        return self.partitioners[split].load_partition(partition_id)


def pictures(n: int, label: str = "label") -> Part:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    items = [image.fromarray(np.full((4, 5, 3), i, np.uint8)) for i in range(n)]
    part = Part({"other": list(range(n)), "photo": items, label: [i % 2 for i in range(n)]})
    part.features = {"photo": Image(), label: ClassLabel()}
    return part


def test_pictures_with_training_and_test_partitions() -> None:
    both = Federated(train=Partitioner([pictures(4), pictures(6)]), test=Partitioner([pictures(2), pictures(3)]))
    fed = Federation.from_flwr(both)
    assert fed.ids == ("0", "1")
    assert fed.shape == (3, 4, 5)
    assert (fed.train.sizes.tolist(), fed.test.sizes.tolist()) == ([4, 6], [2, 3])
    assert fed.inputs(fed.x).max() == np.float32(5 / 255)
    uneven = Federated(train=Partitioner([pictures(4)]), test=Partitioner([pictures(2), pictures(3)]))
    with pytest.raises(BadInput, match="1 training partitions but 2 test partitions"):
        Federation.from_flwr(uneven)


def test_natural_ids_and_words_as_labels() -> None:
    parts = [Part(x=[[1.0], [2.0]], label=["dog", "cat"]), Part(x=[[3.0], [4.0]], label=["cow", "cat"])]
    fed = Federation.from_flwr(Partitioner(parts, {0: "zoe", 1: "amy"}), test=0)
    assert fed.ids == ("amy", "zoe")
    assert fed.client("zoe")("train")[1].tolist() == [2, 0]  # cat, cow, dog in sorted order
    assert fed.client("amy")("train")[1].tolist() == [1, 0]


def test_columns_that_cannot_be_found() -> None:
    with pytest.raises(BadInput, match="no image column among a, label; give image="):
        Federation.from_flwr(Partitioner([Part(a=[1], label=[0])]))
    with pytest.raises(BadInput, match="no column 'c'"):
        Federation.from_flwr(Partitioner([Part(a=[1], label=[0])]), image="c")

    class Bare:
        def load_partition(self, i: int) -> Part:
            return Part(x=[[1.0 * i], [2.0]], y=[0, 1])

    with pytest.raises(BadInput, match="give partitions="):
        Federation.from_flwr(Bare())
    assert Federation.from_flwr(Bare(), partitions=11).ids[0] == "00"


def test_the_real_package(tmp_path: Path) -> None:
    package = pytest.importorskip("flwr_datasets", reason="flwr-datasets is not installed")
    natural = pytest.importorskip("flwr_datasets.partitioner").NaturalIdPartitioner
    rows = [{"x": [1.0 * i, 2.0], "label": "ab"[i % 2], "site": f"s{i % 3}"} for i in range(12)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = package.FederatedDataset(
        dataset="json",
        partitioners={"train": natural("site")},
        data_files=str(tmp_path / "rows.jsonl"),
        cache_dir=str(tmp_path / "cache"),
    )
    fed = Federation.from_flwr(source)
    assert fed.ids == ("s0", "s1", "s2")
    assert fed.train.sizes.tolist() == [3, 3, 3]
    assert fed.classes == 2
