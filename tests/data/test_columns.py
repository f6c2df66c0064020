"""Tables: what is read of frames, lists of rows, CSV and Parquet files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shoal.data.columns import holds_words, is_rows, read_table, strange
from shoal.errors import BadInput


def test_parquet_gives_what_the_frame_gives(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "age": pd.array([31, None, 54], dtype="Int64"),
            "sex": pd.Categorical(["f", None, "m"]),
            "site": ["A", "B", "C"],
            "old": [True, False, True],
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet")
    assert np.array_equal(read.columns["age"], [31, np.nan, 54], equal_nan=True)
    assert read.columns["sex"].tolist() == ["f", None, "m"]
    assert read.columns["site"].tolist() == ["A", "B", "C"]
    assert read.columns["old"].tolist() == [True, False, True]
    assert read.source == "t.parquet"


def test_a_file_that_is_no_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_text("client,label\n")
    with pytest.raises(BadInput, match=r"t.parquet cannot be read: .* must be a Parquet file"):
        read_table(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"to read t.parquet pyarrow is needed: pip install 'shoal\[tables\]'"):
        read_table(tmp_path / "t.parquet")


def test_gaps_of_a_file_are_no_words(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,z\n1,a\nNA,b\n nan,c\n,d\n")
    read = read_table(tmp_path / "t.csv")
    assert strange(read, "x").tolist() == []
    assert not holds_words(read, "x") and holds_words(read, "z")


def test_words_with_gaps_stay_words() -> None:
    """numpy would write a gap in a list of words as the word None."""
    assert read_table({"sex": ["f", None]}).columns["sex"].tolist() == ["f", None]
    assert read_table([{"a": 1}, {"a": 2, "b": "x"}]).columns["b"].tolist() == [None, "x"]


def test_frames_that_list_their_columns_as_polars_does() -> None:
    class Frame:
        columns, dtypes = ["age", "sex"], ["f64", "str"]

        def __iter__(self) -> Any:
            return iter([np.array([1.0]), np.array(["f"])])

        def __getitem__(self, name: str) -> Any:
            return np.array([1.0]) if name == "age" else np.array(["f"])

    assert is_rows(Frame()) and list(read_table(Frame()).columns) == ["age", "sex"]
