"""A whole run of FlexCFL on the data of the papers, with either kernel."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.errors import DataMissing
from shoal.kernels import native


@pytest.mark.slow
@pytest.mark.skipif(native() is None, reason="there is no native kernel")
def test_flexcfl_finds_the_same_groups_on_mnist_with_both_kernels() -> None:
    settings: dict[str, Any] = {"partition": "power-law:classes=2", "model": "mnist-mclr", "rounds": 15, "epochs": 20}
    settings |= {"clients_per_round": 20, "batch": 10, "lr": 0.03}
    try:
        one, two = (shoal.run("flexcfl", "mnist", kernel=kernel, **settings) for kernel in ("torch", "native"))
    except DataMissing as reason:
        pytest.skip(str(reason))
    assert one.groups == two.groups and len(set(one.groups.values())) == 3
    assert one.summary["best_accuracy"] == pytest.approx(two.summary["best_accuracy"], abs=1e-3)
