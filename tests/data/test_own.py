"""Own data: arrays, torch data sets, folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from shoal.data.federation import Federation
from shoal.errors import BadInput, DataMissing
from shoal.seeds import Key


def test_arrays_lists_and_tensors_give_the_same() -> None:
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 3
    forms: list[tuple[Any, Any]] = [
        (x, y),
        (x.tolist(), y.tolist()),
        (torch.tensor(x, requires_grad=True), torch.tensor(y)),
    ]
    feds = [Federation.from_arrays({"a": form}) for form in forms]
    assert len({fed.fingerprint() for fed in feds}) == 1
    assert feds[0].x.dtype == np.float64
    assert feds[0].train.sizes.tolist() == [9]


def test_the_cut_is_each_clients_own() -> None:
    """A client's test samples depend on its name and the seed, not on the others or their order."""
    data = {name: (np.arange(30)[:, None] * 1.0, np.zeros(30, int)) for name in ("b", "a", "c")}
    one = Federation.from_arrays(data, test=0.2, seed=4)
    two = Federation.from_arrays({k: data[k] for k in ("c", "b")}, test=0.2, seed=Key(4))
    assert one.ids == ("a", "b", "c")
    assert np.array_equal(one.client("b")("test")[0], two.client("b")("test")[0])
    assert not np.array_equal(one.client("a")("test")[0], one.client("b")("test")[0])
    assert one.test.sizes.tolist() == [6, 6, 6]


@pytest.mark.parametrize(("n", "share", "tests"), [(1, 0.5, 0), (2, 0.1, 1), (2, 0.99, 1), (10, 0.1, 1), (5, 0.0, 0)])
def test_the_share_is_rounded_up_but_one_sample_trains(n: int, share: float, tests: int) -> None:
    fed = Federation.from_arrays({"a": (np.zeros((n, 1)), np.zeros(n, int))}, test=share)
    assert (fed.train.sizes.tolist(), fed.test.sizes.tolist()) == ([n - tests], [tests])


def test_a_given_test_part_is_kept() -> None:
    fed = Federation.from_arrays(
        {"a": ([[1.0], [2.0]], [0, 1], [[3.0]], [1]), "b": ([[4.0]], [0], np.zeros((0, 1)), [])}
    )
    assert fed.client("a")("test")[0].tolist() == [[3.0]]
    assert fed.client("b")("test")[0].shape == (0, 1)
    assert fed.train.sizes.tolist() == [2, 1]


def test_kinds_of_inputs() -> None:
    pictures = Federation.from_arrays({"a": (np.full((2, 3, 3), 255, np.uint8), [0, 1])})
    assert pictures.x.dtype == np.uint8
    assert pictures.sample().max() == 1.0
    tokens = Federation.from_arrays({"a": (np.array([[5, 7], [8, 9]]), [0, 1])})
    assert tokens.sample().dtype == np.int64
    flags = Federation.from_arrays({"a": ([[True], [False]], [0, 1])})
    assert flags.sample().dtype == np.float32


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["f4", "f4"], "f4"),
        (["f8", "f8"], "f8"),
        (["f4", "f8"], "f8"),
        (["f2", "f2"], "f4"),
        (["i8", "f4"], "f4"),
        (["?", "f4"], "f4"),
        (["i4", "u1"], "i8"),
        (["i8", "u8"], "i8"),
        ([">f8", ">f8"], "f8"),
    ],
)
def test_floats_stay_as_fine_as_they_are_given(given: list[str], kept: str) -> None:
    fed = Federation.from_arrays({str(i): (np.ones((3, 2), dtype), [0, 1, 0]) for i, dtype in enumerate(given)})
    assert fed.x.dtype == np.dtype(kept)
    assert fed.sample().dtype == np.dtype(kept)
    assert fed.sample().tolist() == [[1, 1]]


def test_double_precision_is_not_cut() -> None:
    x = np.array([[1 + 1e-12], [1.0]])
    assert Federation.from_arrays({"a": (x, [0, 1])}, test=0).client("a")("train")[0].tolist() == x.tolist()


@pytest.mark.parametrize(
    ("clients", "says"),
    [
        ({}, "at least one client"),
        ({"a": ([[1.0]],)}, r"\(x, y\) or \(x, y, x_test, y_test\), not 1 parts"),
        ({"a": ([[1.0], [2.0]], [0])}, r"inputs of shape \(2, 1\) and labels of shape \(1,\)"),
        ({"a": (np.zeros((0, 2)), [])}, "'a' has no training sample"),
        ({"a": ([[[1.0]], [[2.0, 3.0]]], [0, 1])}, "do not all have the same shape"),
        ({"a": ([1.0, [2.0, 3.0]], [0, 1])}, "do not all have the same shape"),
        ({"a": ({"my age": [1.0]}, [0])}, "names by which a model can be called, not 'my age'"),
        ({"a": ({}, [0])}, "names by which a model can be called, not none at all"),
        ({"a": ({"u": [1.0], "v": [1.0, 2.0]}, [0])}, r"inputs of shape {'u': \(1,\), 'v': \(2,\)} and labels"),
        ({"a": ({"u": [1.0]}, [0]), "b": ({"v": [1.0]}, [0])}, "same arrays for all, under the same names"),
        ({"a": ({"u": [1.0]}, [0]), "b": ([1.0], [0])}, "same arrays for all, under the same names"),
        ({"a": ({"u": [[1.0], [1.0, 2.0]]}, [0, 1]), "b": ({"u": [[[1.0]]]}, [0])}, "not in their length alone"),
        ({"a": ({"u": [float("nan")]}, [0])}, "client 'a', u hold a value that is not finite"),
        ({"a": ([[1.0]], [0]), "b": ([[1.0, 2.0]], [0])}, r"different shapes: \(1,\), \(2,\)"),
        ({"a": ([[1.0]], [1]), "b": ([[1.0]], [0.5])}, "whole numbers as targets and others floats"),
        (
            {"a": ([[1.0]], [1]), "b": ([[1.0]], [[1, 0]])},
            r"targets of the clients have different shapes: \(\), \(2,\)",
        ),
        ({"a": ([[1.0]], [[1, -1]])}, "from 0 on, or -100 where none counts"),
        ({"a": ([[1.0]], [-1])}, "whole numbers from 0 on"),
        ({"a": ([[1.0]], ["x"])}, "whole numbers from 0 on"),
        ({"a": ([[1.0]], [float("inf")])}, "targets of client 'a' hold a value that is not finite"),
        ({"a": ([[1.0]], [float("nan")])}, "not finite"),
        ({"a": ([[1.0]], [10**11])}, "'a' has label 100000000000; labels number the classes .* below 1,000,000"),
        ({"a": ([[1.0]], [1e39])}, "targets of client 'a' hold a value beyond 3.4e"),
        ({"a": ([[float("nan")]], [0])}, "not finite"),
        ({"a": ([[1e300]], [0])}, "beyond 3.4e\\+38; scale them down"),
        ({"a": ([[-1e39]], [0])}, "beyond 3.4e"),
        ({"a": ([[2**63]], [0])}, "more than 63 bits"),
        ({"a\ud800": ([[1.0]], [0])}, r"client 'a\\ud800' has a name that is no valid Unicode text"),
        ({"a": ([["x"]], [0])}, "must be numbers"),
        ({1: ([[1.0]], [0]), "1": ([[1.0]], [0])}, "same name"),
        ({"*": ([[1.0]], [0])}, "may not be called"),
        ({"a": (np.zeros((1, 2, 2), np.uint8), [0]), "b": (np.zeros((1, 2, 2)), [0])}, "use one kind for all"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(clients: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Federation.from_arrays(clients)


def test_bounds_of_the_arguments() -> None:
    with pytest.raises(BadInput, match="test must be"):
        Federation.from_arrays({"a": ([[1.0]], [0])}, test=1.0)
    with pytest.raises(BadInput, match="label 3 does not fit into 2 classes"):
        Federation.from_arrays({"a": ([[1.0]], [3])}, classes=2)
    with pytest.raises(BadInput, match="classes must be at most 1,000,000, not 100,000,000,000"):
        Federation.from_arrays({"a": ([[1.0]], [3])}, classes=10**11)


def test_torch_data_sets() -> None:
    sets = {n: TensorDataset(torch.arange(8.0).reshape(4, 2), torch.tensor([0, 1, 2, 1])) for n in ("a", "b")}
    fed = Federation.from_datasets(sets, test=0.25)
    assert fed.classes == 3
    assert fed.train.sizes.tolist() == [3, 3]
    given = Federation.from_datasets({"a": (sets["a"], sets["b"])})
    assert given.test.sizes.tolist() == [4]
    with pytest.raises(BadInput, match="at least one item"):
        Federation.from_datasets({"a": []})
    with pytest.raises(BadInput, match="length and items"):
        Federation.from_datasets({"a": 3})
    with pytest.raises(BadInput, match="same shape"):
        Federation.from_datasets({"a": [(np.zeros((2, 3)), 0), (np.zeros((2, 4)), 1)]})


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"holds no <client>\.npz"):
        Federation.from_folder(tmp_path)
    np.savez(tmp_path / "ann.npz", x=np.eye(4), y=[0, 1, 2, 3])
    np.savez(tmp_path / "bob.npz", x=np.eye(4), y=[0, 1, 2, 3], x_test=np.eye(4)[:2], y_test=[0, 1])
    fed = Federation.from_folder(tmp_path, test=0.5)
    assert fed.ids == ("ann", "bob")
    assert fed.test.sizes.tolist() == [2, 2]
    assert fed.train.sizes.tolist() == [2, 4]
    np.savez(tmp_path / "bad.npz", x=np.eye(4))
    with pytest.raises(BadInput, match=r"bad\.npz cannot be read: y is not a file in the archive"):
        Federation.from_folder(tmp_path)
    (tmp_path / "bad.npz").write_bytes(b"rubbish")
    with pytest.raises(BadInput, match=r"bad\.npz cannot be read"):
        Federation.from_folder(tmp_path)
