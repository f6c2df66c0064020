"""Fast paths in C: for what most clients of the papers train, perceptrons on raw inputs, and for the server."""

from shoal.kernels.dense import Dense, Perceptron, Rule, dual_pays
from shoal.kernels.native import native
from shoal.kernels.sums import sums_of_larger

__all__ = ["Dense", "Perceptron", "Rule", "dual_pays", "native", "sums_of_larger"]
