"""How alike clients are: one function per measure, arrays in, arrays out."""

from shoal.measures.clusterability import Clusterability, clusterability
from shoal.measures.concentration import relative_contrast
from shoal.measures.convergence import (
    Noise,
    clustering_step,
    descent_step,
    gradient_noise,
    least_eps,
    mean_square_gradient,
    rounds_needed,
    smoothness,
)
from shoal.measures.cosine import cosine, cosine_from_gram, cosine_to, dissimilarity
from shoal.measures.cpd import ClassKernel, cpd, cpd_pairs, grouping_objective
from shoal.measures.divergence import Divergence, divergence_bound, gradient_divergence, group_divergence
from shoal.measures.edc import edc, edc_embedding
from shoal.measures.gram import coordinates, gram, norms
from shoal.measures.l2 import pairwise_squared_l2, squared_l2
from shoal.measures.madc import madc
from shoal.measures.metric import Metric, pairwise
from shoal.measures.nearest import client_cold_start, nearest_directions
from shoal.measures.objective import objective, wecfl_objective
from shoal.measures.principal import Plane, principal
from shoal.measures.separation import pair_order, relative_deviation
from shoal.measures.validity import (
    Choice,
    Cluster,
    Criterion,
    choose_k,
    clarity,
    gap,
    silhouette,
    silhouettes,
    within,
    within_groups,
)
from shoal.measures.wasserstein import Shift, ShiftMode, shift_distance, shifted, threshold

__all__ = [
    "cosine",
    "cosine_from_gram",
    "cosine_to",
    "dissimilarity",
    "madc",
    "edc",
    "edc_embedding",
    "coordinates",
    "gram",
    "norms",
    "squared_l2",
    "pairwise_squared_l2",
    "Metric",
    "pairwise",
    "client_cold_start",
    "nearest_directions",
    "Shift",
    "ShiftMode",
    "shift_distance",
    "shifted",
    "threshold",
    "Clusterability",
    "clusterability",
    "Choice",
    "Cluster",
    "Criterion",
    "choose_k",
    "clarity",
    "gap",
    "silhouette",
    "silhouettes",
    "within",
    "within_groups",
    "Noise",
    "mean_square_gradient",
    "gradient_noise",
    "smoothness",
    "clustering_step",
    "descent_step",
    "least_eps",
    "rounds_needed",
    "Divergence",
    "gradient_divergence",
    "group_divergence",
    "divergence_bound",
    "relative_contrast",
    "Plane",
    "principal",
    "ClassKernel",
    "cpd",
    "cpd_pairs",
    "grouping_objective",
    "objective",
    "wecfl_objective",
    "pair_order",
    "relative_deviation",
]
