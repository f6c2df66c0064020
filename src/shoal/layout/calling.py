"""How a module is called: with one tensor, by name with a dict of them, by place with a tuple; and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from shoal.errors import BadInput
from shoal.tree import Tree


def call(module: Callable[..., Any], x: Tree) -> torch.Tensor:
    """Scores of a batch.

    Args:
        module: A module, or a part of one.
        x: A tensor; a dict of tensors, given by name; or a tuple, given by place.

    Returns:
        What the module returns or, where that is a record, dict or tuple, its `logits` or first entry.

    >>> call(lambda image, age: (image.sum(1) + age, "more"), {"image": torch.ones(2, 3), "age": torch.zeros(2)})
    tensor([3., 3.])
    """
    if isinstance(x, torch.Tensor):
        out = module(x)
    else:
        out = module(**x) if isinstance(x, dict) else module(*x)
    return out if isinstance(out, torch.Tensor) else scores_in(out)


def scores_in(out: Any) -> torch.Tensor:
    """The scores in what a module returned, as models of transformers do."""
    found = out.get("logits") if isinstance(out, Mapping) else getattr(out, "logits", None)
    if found is None and isinstance(out, tuple) and out:
        found = out[0]
    if not isinstance(found, torch.Tensor):
        raise BadInput(
            f"the model returned {type(out).__name__}; let it return a tensor of scores, or a record, dict or tuple "
            "with `logits` or with the scores first"
        )
    return found
