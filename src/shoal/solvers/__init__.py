"""Local training: the one loop, and the loss terms that plug into it."""

from shoal.solvers.fusion import GAMMA, Fused, Fusion, Operator, with_features
from shoal.solvers.mmd import MMD, mmd
from shoal.solvers.order import batches
from shoal.solvers.proximal import Proximal
from shoal.solvers.sgd import SGD, gradient
from shoal.solvers.terms import Batch, LossTerm, Sees, Trained

__all__ = [
    "GAMMA",
    "MMD",
    "SGD",
    "Batch",
    "Fused",
    "Fusion",
    "LossTerm",
    "Operator",
    "Proximal",
    "Sees",
    "Trained",
    "batches",
    "gradient",
    "mmd",
    "with_features",
]
