"""How the answers of a group become its next model: rules, transforms in front of them, and the lift to K groups."""

from shoal.aggregators.ida import InverseDistance, inverse_distances
from shoal.aggregators.inter_group import InterGroupMode, inter_group
from shoal.aggregators.lift import per_group
from shoal.aggregators.mean import Mean, plain_mean, weighted_mean, weighted_sum
from shoal.aggregators.median import Median, TrimmedMean
from shoal.aggregators.registry import AGGREGATORS, TRANSFORMS, aggregator, parse_aggregator, transform
from shoal.aggregators.rules import (
    Aggregator,
    MeanRule,
    ServerState,
    Transform,
    Transformed,
    WholeRule,
    by_column,
)
from shoal.aggregators.server_opt import Rule, ServerOptimiser, second_moment
from shoal.aggregators.transforms import Clip, GaussianNoise, RandomMask

__all__ = [
    "AGGREGATORS",
    "TRANSFORMS",
    "Aggregator",
    "Clip",
    "GaussianNoise",
    "InterGroupMode",
    "InverseDistance",
    "Mean",
    "MeanRule",
    "Median",
    "RandomMask",
    "Rule",
    "ServerOptimiser",
    "ServerState",
    "Transform",
    "Transformed",
    "TrimmedMean",
    "WholeRule",
    "aggregator",
    "by_column",
    "inter_group",
    "inverse_distances",
    "parse_aggregator",
    "per_group",
    "plain_mean",
    "second_moment",
    "transform",
    "weighted_mean",
    "weighted_sum",
]
