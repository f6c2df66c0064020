"""Fast paths in C: for what most clients of the papers train, small networks, and for the server."""

from shoal.kernels.calls import Store
from shoal.kernels.cohort import Plan, log_probabilities_many, train_many
from shoal.kernels.fusion import Mixing
from shoal.kernels.native import native, why_none
from shoal.kernels.network import Network
from shoal.kernels.rule import Discrepancy, Rule, dual_pays
from shoal.kernels.sgd import Native
from shoal.kernels.sums import sums_of_larger

__all__ = [
    "Discrepancy",
    "Mixing",
    "Native",
    "Network",
    "Plan",
    "Rule",
    "Store",
    "dual_pays",
    "log_probabilities_many",
    "native",
    "sums_of_larger",
    "train_many",
    "why_none",
]
