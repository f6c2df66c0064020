"""Local training: the one loop, and the loss terms that plug into it."""

from shoal.solvers.proximal import Proximal
from shoal.solvers.sgd import SGD, LossTerm, Trained, batches, gradient

__all__ = ["SGD", "LossTerm", "Proximal", "Trained", "batches", "gradient"]
