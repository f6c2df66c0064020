"""The aggregators and transforms by name, filled by declarations: `@aggregator("median")`, `@transform("clip")`."""

from __future__ import annotations

import re
from collections.abc import Callable

from shoal.aggregators.rules import Aggregator, Transform
from shoal.data.spec import parse
from shoal.errors import BadInput
from shoal.registry import Registry

aggregator = AGGREGATORS = Registry[Callable[..., Aggregator]]("aggregator", home="shoal.aggregators")
transform = TRANSFORMS = Registry[Callable[..., Transform]]("transform", home="shoal.aggregators")


def parse_aggregator(text: str) -> Aggregator:
    """Read an aggregator, with what stands in front of it: names with arguments, joined by `+`.

    Args:
        text: Such as `trimmed-mean:0.2`, or `clip:10+weighted-mean`.

    Returns:
        The aggregator.

    >>> parse_aggregator("clip:10+gaussian-noise:0.5+median")
    Transformed(rule=Median(), transforms=(Clip(norm=10.0), GaussianNoise(sigma=0.5)))
    """
    *fronts, last = [parse(piece) for piece in re.split(r"\+(?=\s*[A-Za-z])", text)]
    if last.name in TRANSFORMS:
        raise BadInput(f"{text!r} ends with a transform; write an aggregator behind it: {text}+weighted-mean")
    rule = last.make(AGGREGATORS.find(last.name), "aggregator")
    for spec in fronts:
        if spec.name in AGGREGATORS:
            raise BadInput(f"{text!r} names two aggregators; only the last of the names is one")
    transforms = [spec.make(TRANSFORMS.find(spec.name), "transform") for spec in fronts]
    return rule.after(*transforms) if transforms else rule
