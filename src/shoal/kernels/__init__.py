"""Fast paths in C: for what most clients of the papers train, perceptrons and small conv nets, and for the server."""

from shoal.kernels.native import native, why_none
from shoal.kernels.network import Network
from shoal.kernels.sgd import Native, Rule, dual_pays
from shoal.kernels.sums import sums_of_larger

__all__ = ["Native", "Network", "Rule", "dual_pays", "native", "sums_of_larger", "why_none"]
