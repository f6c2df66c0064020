"""Preprocessing as a record: kept, written, read, applied to new rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from shoal import Federation
from shoal.data.preprocess import Preprocessing, encode
from shoal.errors import BadInput

ROWS = {
    "client": ["a", "a", "b", "b"],
    "age": [30.0, None, 50.0, 40.0],
    "sex": ["f", "m", "f", None],
    "label": ["ill", "well", "well", "ill"],
}


def made() -> Federation:
    return Federation.from_table(ROWS, impute="mean", encode="one-hot", standardise=True, indicator=True, test=0)


def test_new_rows_become_what_the_federation_holds() -> None:
    fed = made()
    assert fed.preprocess is not None and fed.class_names == ("ill", "well")
    assert fed.preprocess.prepare(ROWS).tolist() == fed.x.tolist()
    with pytest.raises(BadInput, match="the table has no column 'sex'; its columns are age"):
        fed.preprocess.prepare({"age": [1]})


def test_a_gap_where_training_rows_had_none_is_filled_too() -> None:
    full = Federation.from_table({**ROWS, "age": [30, 50, 50, 30], "sex": ["f"] * 4}, impute="mean", encode="one-hot")
    assert full.preprocess is not None
    assert full.preprocess.prepare({"age": [None], "sex": ["f"]})[0, 1] == 1.0
    bare = Federation.from_table({**ROWS, "age": [30, 50, 50, 30], "sex": ["f"] * 4}, encode="one-hot")
    assert bare.preprocess is not None
    with pytest.raises(BadInput, match="column 'age' of the table is empty in row 0"):
        bare.preprocess.prepare({"age": [None], "sex": ["f"]})


def test_written_down_and_used_by_another_site(tmp_path: Path) -> None:
    fed = made()
    assert fed.preprocess is not None
    fed.preprocess.write(tmp_path / "p.json")
    again = Preprocessing.read(tmp_path / "p.json")
    assert again.prepare(ROWS).tolist() == fed.x.tolist()
    other = {**ROWS, "client": ["c"] * 4, "age": [90, None, 30, 30]}
    site = Federation.from_table(other, preprocess=tmp_path / "p.json", test=0)
    assert site.x.tolist() == fed.preprocess.prepare(other).tolist()
    with pytest.raises(BadInput, match="leave impute, encode and the others out"):
        Federation.from_table(other, preprocess=again, impute="mean")
    (tmp_path / "p.json").write_text("{}")
    with pytest.raises(BadInput, match="holds no preprocessing: 'columns'"):
        Preprocessing.read(tmp_path / "p.json")


def test_the_formula_is_the_same_in_torch() -> None:
    fed = made()
    assert fed.preprocess is not None
    raw = fed.preprocess.raw({"age": [31, None, 77], "sex": ["m", "zebra", None]})
    values = map(torch.from_numpy, fed.preprocess.values())
    torched = encode(torch, fed.preprocess.columns, torch.from_numpy(raw), *values)
    np.testing.assert_allclose(torched.numpy(), fed.preprocess(raw), rtol=1e-12)
