"""The record of a round as the files of a run hold it: names and values of JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

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
