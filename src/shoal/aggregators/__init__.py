"""How the answers of a group become its next model."""

from shoal.aggregators.inter_group import InterGroupMode, inter_group
from shoal.aggregators.lift import per_group
from shoal.aggregators.mean import Aggregator, Mean, ServerState, plain_mean, weighted_mean, weighted_sum

__all__ = [
    "Aggregator",
    "InterGroupMode",
    "Mean",
    "ServerState",
    "inter_group",
    "per_group",
    "plain_mean",
    "weighted_mean",
    "weighted_sum",
]
