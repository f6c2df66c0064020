"""Data: federations, data sets, partitions, own data."""

from __future__ import annotations

from shoal.data.build import Statistics, build, describe, partition_named
from shoal.data.dataset import Dataset
from shoal.data.federation import Federation, OnDemand, Source
from shoal.data.partition import PARTITIONS, Partition
from shoal.data.samples import Inputs, Ragged, View
from shoal.data.spec import Spec, parse
from shoal.tree import Pad, Sequences

__all__ = [
    "PARTITIONS",
    "Dataset",
    "Federation",
    "Inputs",
    "OnDemand",
    "Pad",
    "Partition",
    "Ragged",
    "Sequences",
    "Source",
    "Spec",
    "Statistics",
    "View",
    "build",
    "describe",
    "parse",
    "partition_named",
]
