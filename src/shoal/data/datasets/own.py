"""Own data by name, for `data=` on the command line: a folder of npz files, a CSV table with a client column."""

from __future__ import annotations

from shoal.data.datasets.registry import dataset
from shoal.data.federation import Federation
from shoal.data.own import from_folder
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


@dataset("csv", has_clients=True, own_files=True)
def csv(
    path: str,
    client: str = "client",
    label: str = "label",
    tags: str = "",
    test: float = 0.1,
    features: str = "",
    *,
    key: Key,
) -> Federation:
    """`csv:PATH:client=COLUMN:label=COLUMN`: a table.

    `tags` names published columns, joined by `+`; `features` those that are inputs, if not all others are.

    >>> csv("/nowhere.csv", key=Key(1))
    Traceback (most recent call last):
    ...
    shoal.errors.DataMissing: there is no table /nowhere.csv.
    """
    chosen = _names(features) or None
    return from_table(path, client=client, label=label, features=chosen, tags=_names(tags), test=test, seed=key)


def _names(joined: str) -> tuple[str, ...]:
    return tuple(name for name in joined.split("+") if name)
