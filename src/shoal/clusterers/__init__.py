"""How clients become groups: one function per method, labels for the rows it was given."""

from shoal.clusterers.bipartition import (
    BipartitionMode,
    Split,
    bipartition,
    complete_bipartition,
    optimal_bipartition,
)
from shoal.clusterers.equal_size import EqualSize, assign_equal, equal_size, equal_size_kmeans
from shoal.clusterers.icg import Grouping, Sizes, icg, icg_sizes, seat_the_rest
from shoal.clusterers.kmeans import kmeans, kmeans_from, reseed, seed_centres
from shoal.clusterers.linkage import Linkage, cut_at, cut_into
from shoal.clusterers.lloyd import Clusters, e_step, lloyd, m_step
from shoal.clusterers.min_loss import min_loss
from shoal.clusterers.order import by_first
from shoal.clusterers.spherical import spherical_centres, spherical_lloyd, unit

__all__ = [
    "Clusters",
    "e_step",
    "m_step",
    "lloyd",
    "unit",
    "spherical_centres",
    "spherical_lloyd",
    "seed_centres",
    "reseed",
    "kmeans",
    "kmeans_from",
    "Linkage",
    "cut_into",
    "cut_at",
    "BipartitionMode",
    "Split",
    "bipartition",
    "optimal_bipartition",
    "complete_bipartition",
    "min_loss",
    "EqualSize",
    "assign_equal",
    "equal_size",
    "equal_size_kmeans",
    "Grouping",
    "Sizes",
    "icg",
    "icg_sizes",
    "seat_the_rest",
    "by_first",
]
