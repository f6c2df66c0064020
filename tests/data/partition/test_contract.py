"""What every partition of the registry promises, on random small data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition import PARTITIONS
from shoal.data.spec import parameters
from shoal.errors import BadInput
from shoal.seeds import Key

# what a parameter may be in these tests; a new one with another name keeps its default
DRAW: dict[str, st.SearchStrategy[Any]] = {
    "clients": st.integers(1, 12),
    "groups": st.integers(1, 4),
    "classes": st.integers(1, 3),
    "per_client": st.integers(1, 3),
    "per_group": st.integers(1, 4),
    "least": st.integers(1, 4),
    "alpha": st.sampled_from([0.001, 0.1, 1.0, 100.0]),
    "beta": st.sampled_from([0.1, 10.0]),
    "overlap": st.booleans(),
    "sigma": st.sampled_from([0.0, 1.55, 2.0]),
    "samples": st.none() | st.integers(1, 200),
    "angle": st.sampled_from([90.0, 30.0, 180.0]),
    "dirichlet": st.none() | st.sampled_from([0.1, 10.0]),
}
POOLED = {"ditto"}  # test samples come from a tenth set aside, which may lack a client's classes


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Sample i holds the number i; labels and writers at random; with or without a given test part."""
    n, classes = draw(st.integers(2, 200)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    skew = rng.dirichlet(np.full(classes, draw(st.sampled_from([0.3, 5.0]))))
    return Dataset(
        name="random",
        x=np.arange(n)[:, None, None, None],
        y=rng.choice(classes, n, p=skew),
        classes=classes,
        first_test=draw(st.sampled_from([None, n - n // 6])),
        writer=rng.integers(0, 9, n),
        writer_names=tuple("wxyabcdef"),
    )


def numbers(fed: Federation, split: str) -> list[np.ndarray[Any, Any]]:
    """The numbers of the samples of each client."""
    return [fed.x[fed.indices(client, split)].ravel() for client in fed.ids]


@pytest.mark.parametrize("name", PARTITIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_partitions_keep_their_promises(name: str, data: st.DataObject) -> None:
    dataset = data.draw(datasets())
    takes = parameters(PARTITIONS[name])
    wanted = {k: data.draw(DRAW[k], label=k) for k in takes if k in DRAW}
    if "dirichlet" in takes:  # labels are skewed in one way, or not at all
        wanted["classes"] = None if wanted["dirichlet"] else data.draw(st.none() | DRAW["classes"], label="classes")
    refused = ""
    try:
        partition = PARTITIONS[name](**wanted)
        fed = partition(dataset, Key(1))
    except BadInput as sentence:
        refused = str(sentence)
    if refused:
        assert len(refused) > 20
        assert "\n" not in refused
        return
    train, test = numbers(fed, "train"), numbers(fed, "test")
    assert len(fed.ids) == wanted["clients"]
    assert min(len(rows) for rows in train) >= 1
    for own_train, own_test in zip(train, test, strict=True):
        both = np.concatenate([own_train, own_test])
        assert len(np.unique(both)) == len(both)  # nobody has a sample twice
    everything = np.concatenate(train)
    if partition.disjoint:
        assert len(np.unique(everything)) == len(everything)
    if partition.covers:
        assert np.array_equal(np.unique(np.concatenate([everything, *test])), np.arange(len(dataset)))
        if dataset.first_test is not None:
            assert everything.max() < dataset.first_test
            assert all(rows.min(initial=dataset.first_test) >= dataset.first_test for rows in test)
    if dataset.first_test is None and name not in POOLED:
        assert all(len(b) >= 1 for a, b in zip(train, test, strict=True) if len(a) > 1)
    if fed.truth is not None:
        assert np.array_equal(np.unique(fed.truth), np.arange(wanted["groups"]))
    assert np.array_equal(dataset.x.ravel(), np.arange(len(dataset)))
    assert fed.fingerprint() == partition(dataset, Key(1)).fingerprint()


@pytest.mark.parametrize("name", PARTITIONS)
def test_another_seed_deals_otherwise(name: str) -> None:
    y = np.arange(600) % 6
    dataset = Dataset(name="even", x=np.arange(600)[:, None, None, None], y=y, classes=6, writer=np.arange(600) // 20)
    small = {k: v for k, v in {"clients": 8, "groups": 2, "least": 5}.items() if k in parameters(PARTITIONS[name])}
    dealt = {PARTITIONS[name](**small)(dataset, Key(seed)).fingerprint() for seed in range(3)}
    assert len(dealt) == 3


@pytest.mark.parametrize("name", PARTITIONS)
def test_senseless_arguments_are_refused(name: str) -> None:
    for argument in {"clients", "groups", "classes", "least", "alpha"} & set(parameters(PARTITIONS[name])):
        with pytest.raises(BadInput, match=argument):
            PARTITIONS[name](**{argument: 0})
