"""The record of a round as the files of a run hold it: names and values of JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.scores import ACCURACY, Score

Row = dict[str, Any]


def to_json(value: Any) -> Any:
    """Values as JSON holds them: numpy numbers and arrays as Python's own, nan as null."""
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return bool(value) if isinstance(value, np.bool_) else value


def client_values(part: Mapping[str, Any], score: Score) -> list[float | None]:
    """What each client has of the score, in the order of the ids; None where it was not tested.

    Args:
        part: `clients` of the record of a tested round.
        score: The headline figure of the run.

    Returns:
        One value per client.

    >>> client_values({"right": [3, 0], "total": [4, 0]}, ACCURACY)
    [0.75, None]
    >>> client_values({"total": [4], "rmse": [0.5]}, Score("rmse"))
    [0.5]
    """
    if "right" in part and score == ACCURACY:
        return [right / n if n else None for right, n in zip(part["right"], part["total"], strict=True)]
    return list(part.get(score.name, [None] * len(part["total"])))
