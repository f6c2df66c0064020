"""The algorithms, one file each; `ALGORITHMS` is the list everything else reads."""

from shoal.algorithms.central import Central
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.fedprox import FedProx
from shoal.algorithms.local import Local

ALGORITHMS: dict[str, type] = {"central": Central, "fedavg": FedAvg, "fedprox": FedProx, "local": Local}

__all__ = ["ALGORITHMS", "Central", "FedAvg", "FedProx", "Local"]
