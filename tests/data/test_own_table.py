"""Tables with a client column: data frames and CSV files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shoal.data.federation import Federation
from shoal.errors import BadInput, DataMissing

FRAME = pd.DataFrame(
    {
        "hospital": ["b", "a", "b", "a"],
        "age": [1, 2, 3, 4],
        "dose": [0.5, 1.5, 2.5, 3.5],
        "note": ["x", "y", "z", "x"],
        "ill": ["yes", "no", "no", "maybe"],
        "land": ["N", "S", "N", "S"],
    }
)


def test_a_frame_and_its_csv_give_the_same(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    feds = [
        Federation.from_table(table, client="hospital", label="ill", tags=["land"], test=0)
        for table in (FRAME, tmp_path / "t.csv", str(tmp_path / "t.csv"))
    ]
    assert len({fed.fingerprint() for fed in feds}) == 1
    fed = feds[0]
    assert fed.ids == ("a", "b")
    assert fed.client("a")("train")[0].tolist() == [[2.0, 1.5], [4.0, 3.5]]  # age and dose; note holds words
    assert fed.client("a")("train")[1].tolist() == [1, 0]  # maybe, no, yes in sorted order
    assert fed.classes == 3
    assert fed.roster.tags == {"a": {"land": "S"}, "b": {"land": "N"}}


def test_numbers_as_labels_stay() -> None:
    fed = Federation.from_table(
        FRAME.assign(ill=[0, 3, 3, 0]), client="hospital", label="ill", features=["dose"], test=0
    )
    assert fed.classes == 4
    assert fed.shape == (1,)
    assert np.unique(fed.y).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"client": "clinic"}, "no column 'clinic'; its columns are hospital, age"),
        ({"label": "age2"}, "no column 'age2'"),
        ({"features": ["note"]}, "column 'note' of the table does not hold numbers only"),
        ({"tags": ["note"]}, "several values of tag 'note'"),
        ({"features": []}, "no numeric column left"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Federation.from_table(FRAME, **{"client": "hospital", "label": "ill", **arguments})  # type: ignore[arg-type]


def test_missing_values_are_named() -> None:
    with pytest.raises(BadInput, match="client 'b' hold a value that is not finite"):
        Federation.from_table(FRAME.assign(dose=[1, 2, np.nan, 3]), client="hospital", label="ill")


def test_files_that_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="there is no table"):
        Federation.from_table(tmp_path / "none.csv")
    (tmp_path / "t.csv").write_text("client,label,x\n")
    with pytest.raises(DataMissing, match="has no rows"):
        Federation.from_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("client,label,x\na,0,1\nb,1\n")
    with pytest.raises(BadInput, match=r"line 3 of .* has 2 fields, the first line 3"):
        Federation.from_table(tmp_path / "t.csv")
