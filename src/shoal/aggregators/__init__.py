"""How the answers of a group become its next model."""

from shoal.aggregators.lift import per_group
from shoal.aggregators.mean import Aggregator, Mean, ServerState, plain_mean, weighted_mean, weighted_sum

__all__ = ["Aggregator", "Mean", "ServerState", "per_group", "plain_mean", "weighted_mean", "weighted_sum"]
