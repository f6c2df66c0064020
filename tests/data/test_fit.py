"""What is fitted on the training rows of a table, against numbers computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal import Federation
from shoal.data.columns import read_table
from shoal.data.fit import Asked, Moments, fitted
from shoal.data.preprocess import Preprocessing
from shoal.errors import BadInput

ROWS = {
    "age": [10.0, 20.0, None, 30.0, 60.0, 1000.0],
    "sex": ["f", "m", "f", None, "f", "x"],
}
TRAIN = {"ann": np.array([0, 1, 2]), "bob": np.array([3, 4])}  # the last row is for testing


def fit(**how: Any) -> Preprocessing:
    return fitted(read_table(ROWS), ["age", "sex"], TRAIN, Asked(encode="one-hot", **how))


def test_moments_of_parts_are_those_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(1e6, 1.0, n) for n in (3, 0, 1, 50)]
    whole = np.concatenate(parts)
    added = sum(map(Moments.of, parts), Moments())
    assert added.count == 54
    assert added.mean == pytest.approx(whole.mean(), rel=1e-14)
    assert added.deviation == pytest.approx(whole.std(), rel=1e-9)
    assert Moments.of(np.full(3, 0.1)).deviation == 1.0, "a constant column is not divided by nothing"


@pytest.mark.parametrize(
    ("rule", "age", "sex"),
    [
        ("mean", 30.0, 0.0),  # (10 + 20 + 30 + 60) / 4; f occurs three times, m once
        ("median", 25.0, 0.0),  # between 20 and 30
        ("most-frequent", 10.0, 0.0),  # all once: the smallest
        ({"age": 0, "sex": "unknown"}, 0.0, 2.0),  # a category of its own, after f and m
    ],
)
def test_gaps_are_filled_by_training_rows_alone(rule: Any, age: float, sex: float) -> None:
    assert fit(impute=rule).fill.tolist() == [[age, sex]]


def test_numbers_are_standardised_over_the_cells_that_are_there() -> None:
    found = fit(impute="mean", standardise=True)
    deviation = np.sqrt((400 + 100 + 0 + 900) / 4)  # of 10, 20, 30, 60 from 30
    assert found.shift.tolist() == [[30.0, 0.0]] and found.scale.tolist() == [[deviation, 1.0]]
    assert fit(impute="mean", standardise=["sex"]).scale.tolist() == [[1.0, 1.0]], "categories have no scale"


def test_every_client_by_itself() -> None:
    """ann has 10 and 20, so mean 15 and deviation 5; bob 30 and 60, so 45 and 15. A stranger gets those of all."""
    found = fit(impute="mean", standardise=True, fit="client")
    assert found.clients == ("ann", "bob")
    assert found.prepare({"age": [None, 20], "sex": ["f", "m"]}, "ann").tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    assert found.prepare({"age": [60], "sex": [None]}, "bob").tolist() == [[1.0, 1.0, 0.0]]
    assert found.prepare({"age": [30], "sex": ["f"]}, "zoe").tolist() == [[0.0, 1.0, 0.0]]
    assert found.keep(["bob", "zoe"]).prepare({"age": [60], "sex": [None]}, "bob").tolist() == [[1.0, 1.0, 0.0]]


def test_a_client_without_a_value_takes_those_of_all() -> None:
    table = read_table({"age": [None, 20.0, 40.0]})
    train = {"ann": np.array([0]), "bob": np.array([1, 2])}
    found = fitted(table, ["age"], train, Asked("median", standardise=True, fit="client"))
    assert found.values("ann")[0].tolist() == [30.0] and found.values("ann")[2].tolist() == [10.0]


def test_indicators_stand_where_training_rows_had_gaps() -> None:
    rows = {**ROWS, "height": [1.0] * 6}
    found = fitted(read_table(rows), list(rows), TRAIN, Asked("mean", "one-hot", indicator=True))
    assert found.inputs == ("age", "age missing", "sex=f", "sex=m", "sex missing", "height")
    assert found.prepare({"age": [None], "sex": ["m"], "height": [None]}).tolist() == [[30.0, 1.0, 0.0, 1.0, 0.0, 1.0]]


def test_categories_in_an_order_of_ones_own_and_numbers_as_categories() -> None:
    rows = {"stage": ["II", "I", "III"], "ward": [7, 12, 7]}
    train = {"ann": np.arange(3)}
    found = fitted(read_table(rows), list(rows), train, Asked(encode={"stage": ["I", "II", "III"], "ward": "one-hot"}))
    assert found.inputs == ("stage", "ward=12", "ward=7")
    assert found.prepare(rows).tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]]
    assert found.prepare({"stage": ["IV"], "ward": [1]}).tolist() == [[-1.0, 0.0, 0.0]], "never seen"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"impute": {"weight": 0}}, "impute names 'weight', which is no feature; these are age, sex"),
        ({"standardise": ["weight"]}, "standardise names 'weight'"),
        ({"impute": "average", "encode": "one-hot"}, "impute must be mean, median, most-frequent or a constant"),
        ({"encode": "hot"}, "encode must be one-hot or ordinal, or a list of categories in order, not 'hot'"),
        ({"impute": "mean", "fit": "site"}, "fit must be federation or client, not 'site'"),
        ({"encode": "one-hot", "indicator": True}, "indicator tells where gaps were filled; give impute= as well"),
        ({"encode": "one-hot"}, r"column 'age' of the table is empty in row 2 .* impute=median fills gaps"),
        ({"impute": "mean"}, r"column 'sex' of the table holds 'f' in row 0 .* encode=one-hot takes words"),
    ],
)
def test_wishes_that_cannot_be(how: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        fitted(read_table(ROWS), ["age", "sex"], TRAIN, Asked(**how))


def test_a_column_that_no_training_row_fills() -> None:
    table = read_table({"age": [None, 1.0]})
    with pytest.raises(BadInput, match="column 'age' is empty in every training row; name the features"):
        fitted(table, ["age"], {"ann": np.array([0])}, Asked("mean"))
    assert fitted(table, ["age"], {"ann": np.array([0])}, Asked(5)).fill.tolist() == [[5.0]]


def test_a_federation_is_fitted_on_its_training_rows() -> None:
    """The same share of rows is set aside as without preprocessing, and none of them counts."""
    rng = np.random.default_rng(0)
    n = 200
    age = np.where(rng.random(n) < 0.2, np.nan, rng.normal(50, 10, n))
    rows = {"client": rng.choice(["a", "b", "c"], n), "age": age, "row": np.arange(n), "label": rng.integers(0, 2, n)}
    plain = Federation.from_table(rows, features=["row"], test=0.3, seed=4)
    made = Federation.from_table(rows, features=["age"], impute="mean", standardise=True, test=0.3, seed=4)
    assert made.train.index.tolist() == plain.train.index.tolist()
    train = age[plain.x[plain.train.index, 0].astype(int)]
    assert made.preprocess is not None
    assert made.preprocess.fill[0, 0] == pytest.approx(np.nanmean(train))
    assert made.preprocess.scale[0, 0] == pytest.approx(np.nanstd(train))
    assert np.nanmean(train) != pytest.approx(np.nanmean(age), rel=1e-6)
    assert made.x[made.train.index].mean() == pytest.approx(0, abs=1e-9)


def test_a_number_of_minus_one_counts_and_a_category_never_seen_does_not() -> None:
    # Of -1, -1, 5: mean 1, deviations 4 + 4 + 16, so sqrt(8). Of the categories (f, m) given, x is none: f, f, x.
    table = read_table({"change": [-1.0, -1.0, 5.0], "sex": ["f", "f", "x"]})
    asked = Asked(impute="mean", encode={"sex": ["m", "f"]}, standardise=True)
    found = fitted(table, ["change", "sex"], {"ann": np.arange(3)}, asked)
    fill, shift, scale = found.values()
    assert (fill[0], shift[0], scale[0]) == pytest.approx((1.0, 1.0, 8**0.5))
    assert (fill[1], shift[1]) == (1.0, 1.0)
