"""Partitions, one kind a file. Frozen records that declare their names; calling one deals a data set to clients."""

from shoal.data.partition.classes import Classes, ClusterClasses
from shoal.data.partition.dirichlet import ClusterDirichlet, Dirichlet
from shoal.data.partition.ditto import Ditto
from shoal.data.partition.iid import IID
from shoal.data.partition.letters import Letters
from shoal.data.partition.planted import Permuted, Rotated
from shoal.data.partition.power_law import PowerLaw
from shoal.data.partition.registry import PARTITIONS, Partition, partition
from shoal.data.partition.writers import Writers

__all__ = [
    "PARTITIONS",
    "Partition",
    "partition",
    "Classes",
    "ClusterClasses",
    "ClusterDirichlet",
    "Dirichlet",
    "Ditto",
    "IID",
    "Letters",
    "Permuted",
    "PowerLaw",
    "Rotated",
    "Writers",
]
