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
        Federation.from_table(table, client="hospital", label="ill", features=["age", "dose"], tags=["land"], test=0)
        for table in (FRAME, tmp_path / "t.csv", str(tmp_path / "t.csv"))
    ]
    assert len({fed.fingerprint() for fed in feds}) == 1
    fed = feds[0]
    assert fed.ids == ("a", "b")
    assert fed.client("a")("train")[0].tolist() == [[2.0, 1.5], [4.0, 3.5]]
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
        ({"features": ["note"]}, "column 'note' of the table holds 'x' in row 0"),
        ({"tags": ["land"]}, "column 'note' .* no finite number; name the features with features=... to leave"),
        ({"features": ["age"], "tags": ["note"]}, "client 'b' has several values of tag 'note'"),
        ({"features": []}, "no column left for features"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Federation.from_table(FRAME, **{"client": "hospital", "label": "ill", **arguments})  # type: ignore[arg-type]


def test_missing_values_are_named() -> None:
    """In features, labels and clients alike; a gap must not turn numbers into words."""
    gap = {"client": "hospital", "features": ["age", "dose"]}
    with pytest.raises(BadInput, match=r"column 'dose' of the table is empty in row 2 \(counted from 0\); fill it in"):
        Federation.from_table(FRAME.assign(dose=[1, 2, np.nan, 3]), label="ill", **gap)  # type: ignore[arg-type]
    whole = pd.array([1, None, 2, 3], dtype="Int64")
    with pytest.raises(BadInput, match="column 'age' of the table is empty in row 1"):
        Federation.from_table(FRAME.assign(age=whole), label="ill", **gap)  # type: ignore[arg-type]
    for missing in (None, np.nan, pd.NA, ""):
        with pytest.raises(BadInput, match=r"column 'ill' of the table is empty in row 3 .* drop the row"):
            Federation.from_table(FRAME.assign(ill=["a", "b", "a", missing]), label="ill", **gap)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="column 'hospital' of the table is empty in row 0"):
            Federation.from_table(
                FRAME.assign(hospital=[missing, "a", "b", "b"]),
                label="ill",
                **gap,  # type: ignore[arg-type]
            )


def written(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return folder / "t.csv"


def test_clients_and_tags_of_a_file_stay_as_they_are_written(tmp_path: Path) -> None:
    text = "client,x,label,zip\n007,1,0,01\n7,2,1,1\n007,3,1,01\n7.0,4,0,1e2\n 7,5,0,\n"
    fed = Federation.from_table(written(tmp_path, text), tags=["zip"], test=0)
    assert fed.ids == (" 7", "007", "7", "7.0")
    assert fed.client("007")("train")[0].tolist() == [[1.0], [3.0]]
    assert {name: tags["zip"] for name, tags in fed.roster.tags.items()} == {
        " 7": "",
        "007": "01",
        "7": "1",
        "7.0": "1e2",
    }
    long = ["12345678901234567890", "12345678901234567891"]
    text = "client,x,label\n" + "".join(f"{name},{name},0\n" for name in long)
    assert Federation.from_table(written(tmp_path, text)).ids == tuple(long)
    with pytest.raises(BadInput, match=r"column 'client' of t.csv is empty in line 3"):
        Federation.from_table(written(tmp_path, "client,x,label\na,1,0\n,2,1\n"))


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        ([7.0, 8.0, 7.0, 8.5], ("7", "8", "8.5")),
        (np.array([7.0, 7.1, 7.0, 8.0], np.float32), ("7", "7.1", "8")),
        ([7, 10, 7, 10], ("10", "7")),
        (pd.array([1, 2, 1, 2], dtype="Int64"), ("1", "2")),
        (pd.Categorical(["b", "a", "b", "a"]), ("a", "b")),
        (["a", "a\0", "a", "a"], ("a", "a\0")),
        ([True, False, True, True], ("False", "True")),
    ],
)
def test_clients_of_a_frame_are_what_str_gives(column: object, ids: tuple[str, ...]) -> None:
    frame = FRAME.assign(hospital=column)
    assert Federation.from_table(frame, client="hospital", label="ill", features=["age"]).ids == ids


def test_a_gap_in_a_file_is_named_by_column_and_line(tmp_path: Path) -> None:
    """Lines are those an editor shows: quoted cells may hold several, empty lines count but are no rows."""
    gap = written(tmp_path, "client,age,h,label\na,1,2,0\na,,2,1\nb,3,2,1\n")
    with pytest.raises(BadInput, match=r"column 'age' of t.csv is empty in line 3; fill it in, or name the features"):
        Federation.from_table(gap)
    assert Federation.from_table(gap, features=["h"], test=0).x.tolist() == [[2.0], [2.0], [2.0]]
    with pytest.raises(BadInput, match=r"column 'age' of t.csv holds 'NA' in line 6, which is no finite number"):
        Federation.from_table(written(tmp_path, 'client,age,label\n"a\nb",1,0\n\na,1,0\na,NA,1\n'))
    with pytest.raises(BadInput, match=r"column 'age' of t.csv holds 'inf' in line 2"):
        Federation.from_table(written(tmp_path, "client,age,label\na,inf,0\n"))
    with pytest.raises(BadInput, match=r"column 'label' of t.csv is empty in line 3"):
        Federation.from_table(written(tmp_path, "client,age,label\na,1,0\na,2,\n"))


def test_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"t.csv has two columns called 'age'; rename one"):
        Federation.from_table(written(tmp_path, "client,age,age,label\na,1,2,0\n"))
    twice = pd.DataFrame([["a", 1, 2, 0]], columns=["client", "age", "age", "label"])
    with pytest.raises(BadInput, match="the table has two columns called 'age'"):
        Federation.from_table(twice)


def test_columns_that_are_no_columns() -> None:
    with pytest.raises(BadInput, match="different lengths: client 2, x 3, label 2"):
        Federation.from_table({"client": ["a", "b"], "x": [1, 2, 3], "label": [0, 1]})
    for x in (np.eye(2), [[1], [2, 3]]):
        with pytest.raises(BadInput, match="column 'x' of the table does not hold one value per row"):
            Federation.from_table({"client": ["a", "b"], "x": x, "label": [0, 1]})


def test_numbers_are_numbers_whatever_pandas_keeps_them_in() -> None:
    """Nullable columns are numbers too; text and dates are not, even if the text spells a number."""
    rows = {"client": ["a", "a", "b", "b"], "label": pd.array([10, 2, 2, 10], dtype="Int64")}
    whole = pd.DataFrame({**rows, "x": pd.array([1, 2, 3, 4], dtype="Int64")})
    fed = Federation.from_table(whole, test=0)
    assert (fed.x.tolist(), fed.y.tolist(), fed.classes) == ([[1.0], [2.0], [3.0], [4.0]], [10, 2, 2, 10], 11)
    with pytest.raises(BadInput, match="column 'x' of the table holds '1' in row 0"):
        Federation.from_table(pd.DataFrame({**rows, "x": ["1", "2", "3", "4"]}))
    with pytest.raises(BadInput, match="column 'x' of the table holds '2020-01-01"):
        Federation.from_table(pd.DataFrame({**rows, "x": pd.date_range("2020-01-01", periods=4)}))


def test_features_keep_their_precision(tmp_path: Path) -> None:
    fed = Federation.from_table(written(tmp_path, "client,x,label\na,1.000000000001,0\n"))
    assert fed.x.tolist() == [[1.000000000001]]
    rows = {"client": ["a"], "label": [0], "x": np.ones(1, np.float32)}
    assert Federation.from_table(rows).x.dtype == np.float32
    assert Federation.from_table({**rows, "z": [1]}).x.dtype == np.float64


def test_rows_are_grouped_at_once() -> None:
    """Every name is looked at a few times, not once for each of the clients: tables of 100,000 rows are common."""
    looks = 0

    class Name(str):
        def __eq__(self, other: object) -> bool:
            nonlocal looks
            looks += 1
            return str.__eq__(self, other)

        def __ne__(self, other: object) -> bool:
            return not self == other

        __hash__ = str.__hash__

    who = np.random.default_rng(0).integers(0, 400, 2_000)
    names = np.array([Name(f"c{i:06d}") for i in who], object)
    table = {"client": names, "x": np.arange(2_000), "label": who % 2, "odd": who % 2}
    fed = Federation.from_table(table, tags=["odd"], test=0)
    assert 2_000 <= looks <= 5 * 2_000
    assert len(fed.ids) == len(np.unique(who))
    name = f"c{who[0]:06d}"
    assert fed.client(name)("train")[0][:, 0].tolist() == np.flatnonzero(who == who[0]).tolist()
    assert fed.roster.tags[name] == {"odd": str(who[0] % 2)}


def test_files_that_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="there is no table"):
        Federation.from_table(tmp_path / "none.csv")
    (tmp_path / "t.csv").write_text("client,label,x\n")
    with pytest.raises(DataMissing, match="has no rows"):
        Federation.from_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("client,label,x\na,0,1\nb,1\n")
    with pytest.raises(BadInput, match=r"line 3 of .* has 2 fields, the first line 3"):
        Federation.from_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes("client,label,x\nzo\u00eb,0,1\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"t.csv cannot be read: .* must be a CSV file in UTF-8"):
        Federation.from_table(tmp_path / "t.csv")
