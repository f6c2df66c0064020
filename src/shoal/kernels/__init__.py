"""Fast paths in C for what most clients of the papers train: perceptrons on raw inputs."""

from shoal.kernels.dense import Dense, Perceptron, Rule, dual_pays
from shoal.kernels.native import native

__all__ = ["Dense", "Perceptron", "Rule", "dual_pays", "native"]
