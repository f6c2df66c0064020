"""How the answers of a group become its next model."""

from shoal.aggregators.ida import InverseDistance, inverse_distances
from shoal.aggregators.inter_group import InterGroupMode, inter_group
from shoal.aggregators.lift import per_group
from shoal.aggregators.mean import Aggregator, Mean, ServerState, plain_mean, weighted_mean, weighted_sum
from shoal.aggregators.server_opt import Rule, ServerOptimiser, second_moment

__all__ = [
    "Aggregator",
    "InterGroupMode",
    "InverseDistance",
    "Mean",
    "Rule",
    "ServerOptimiser",
    "ServerState",
    "inter_group",
    "inverse_distances",
    "per_group",
    "plain_mean",
    "second_moment",
    "weighted_mean",
    "weighted_sum",
]
