"""Own data by name, for `data=` on the command line: npz files, a table with a client column, a folder of images."""

from __future__ import annotations

from typing import Literal

from shoal.data.dataset import Dataset
from shoal.data.datasets.registry import dataset
from shoal.data.federation import Federation
from shoal.data.fit import Fit
from shoal.data.own import from_folder
from shoal.data.own_images import read_images
from shoal.data.own_table import from_table
from shoal.seeds import Key


@dataset("folder", has_clients=True, own_files=True)
def folder(path: str, test: float = 0.1, *, key: Key) -> Federation:
    """`folder:PATH`: one `<client>.npz` per client with x, y and optionally x_test, y_test.

    >>> folder("/nowhere", key=Key(1))
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: there is no folder /nowhere; give a folder of <client>.npz files with arrays x and y.
    """
    return from_folder(path, test=test, seed=key)


@dataset("table", "csv", has_clients=True, own_files=True)
def table(
    path: str,
    client: str = "client",
    label: str = "label",
    tags: str = "",
    test: float = 0.1,
    features: str = "",
    impute: float | str | None = None,
    encode: Literal["one-hot", "ordinal"] | None = None,
    standardise: bool | str = False,
    fit: Fit = "federation",
    indicator: bool = False,
    preprocess: str = "",
    targets: Literal["classes", "floats"] | None = None,
    *,
    key: Key,
) -> Federation:
    """`table:PATH:client=COLUMN:label=COLUMN`: a CSV or Parquet file.

    `tags` names published columns, joined by `+`; `features` those that are inputs, if not all others are. The others
    are those of `Federation.from_table`; `standardise` may name columns, joined by `+`.

    >>> table("/nowhere.csv", key=Key(1))
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: there is no table /nowhere.csv.
    """
    return from_table(
        path,
        client=client,
        label=label,
        targets=targets,
        features=_names(features) or None,
        tags=_names(tags),
        impute=impute,
        encode=encode,
        standardise=_names(standardise) if isinstance(standardise, str) else standardise,
        fit=fit,
        indicator=indicator,
        preprocess=preprocess or None,
        test=test,
        seed=key,
    )


@dataset("images", partition="iid", own_files=True, may_have_clients=True)
def images(
    path: str, size: int | None = None, grey: bool = False, test: float = 0.1, *, key: Key
) -> Federation | Dataset:
    """`images:PATH`: pictures as PATH/client/class/*.png, or PATH/class/*.png with a partition.

    `size` makes all of them squares of so many pixels, `grey` takes their brightness alone.

    >>> images("/nowhere", key=Key(1))
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: there is no folder /nowhere; give one with PATH/client/class/*.png or PATH/class/*.png.
    """
    return read_images(path, size=size, grey=grey, test=test, seed=key)


def _names(joined: str) -> tuple[str, ...]:
    return tuple(name for name in joined.split("+") if name)
