"""The algorithms, one file each; `ALGORITHMS` is the list everything else reads."""

from shoal.algorithms.central import Central
from shoal.algorithms.cfl import CFL
from shoal.algorithms.ensemble import FedAvgPlus, FedProxPlus
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.fedgroup import FedGroup
from shoal.algorithms.fedgrouprox import FedGrouProx
from shoal.algorithms.fedprox import FedProx
from shoal.algorithms.fesem import FeSEM
from shoal.algorithms.flexcfl import FlexCFL
from shoal.algorithms.flhc import FLHC
from shoal.algorithms.given import Given
from shoal.algorithms.ifca import IFCA
from shoal.algorithms.local import Local
from shoal.algorithms.wecfl import WeCFL

ALGORITHMS: dict[str, type] = {
    "central": Central,
    "cfl": CFL,
    "fedavg": FedAvg,
    "fedavg+": FedAvgPlus,
    "fedgroup": FedGroup,
    "fedgrouprox": FedGrouProx,
    "fedprox": FedProx,
    "fedprox+": FedProxPlus,
    "fesem": FeSEM,
    "flexcfl": FlexCFL,
    "flhc": FLHC,
    "given": Given,
    "hypcluster": IFCA,
    "ifca": IFCA,
    "local": Local,
    "wecfl": WeCFL,
}

__all__ = [
    "ALGORITHMS",
    "CFL",
    "Central",
    "FedAvg",
    "FedAvgPlus",
    "FedGroup",
    "FedGrouProx",
    "FedProx",
    "FedProxPlus",
    "FeSEM",
    "FLHC",
    "FlexCFL",
    "Given",
    "IFCA",
    "Local",
    "WeCFL",
]
