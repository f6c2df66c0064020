"""Modules are called by what their inputs are, and their scores are found in whatever they return."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from shoal.errors import BadInput
from shoal.layout import call

ONE, TWO = torch.tensor([[1.0]]), torch.tensor([[2.0]])


def minus(a: torch.Tensor, b: torch.Tensor = TWO) -> torch.Tensor:
    return a - b


@pytest.mark.parametrize(
    ("x", "value"), [(ONE, -1), ({"b": ONE, "a": TWO}, 1), ((TWO, ONE), 1), ((ONE, TWO), -1), ((TWO,), 0)]
)
def test_inputs_by_name_and_place(x: Any, value: float) -> None:
    assert call(minus, x).item() == value


@pytest.mark.parametrize(
    "out", [ONE, (ONE, TWO), {"logits": ONE, "other": TWO}, SimpleNamespace(loss=TWO, logits=ONE), (ONE,)]
)
def test_scores_in_what_is_returned(out: Any) -> None:
    assert call(lambda x: out, TWO) is ONE


@pytest.mark.parametrize("out", [None, (), {"scores": ONE}, ["no"], SimpleNamespace(loss=ONE), ("no", ONE)])
def test_no_scores_in_what_is_returned(out: Any) -> None:
    with pytest.raises(BadInput, match=f"the model returned {type(out).__name__}; let it return a tensor of scores"):
        call(lambda x: out, ONE)
