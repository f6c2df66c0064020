"""The algorithms, one file each; `ALGORITHMS` is the list everything else reads."""

from shoal.algorithms.central import Central
from shoal.algorithms.cfl import CFL
from shoal.algorithms.ensemble import FedAvgPlus, FedProxPlus
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.fedfusion import FedFusion
from shoal.algorithms.fedgroup import FedGroup
from shoal.algorithms.fedgrouprox import FedGrouProx
from shoal.algorithms.fedgsp import FedGSP, NaiveGSP, NaiveGSPICG
from shoal.algorithms.fedmmd import FedMMD
from shoal.algorithms.fedopt import FedAdagrad, FedAdam, FedYogi
from shoal.algorithms.fedprox import FedProx
from shoal.algorithms.fesem import FeSEM
from shoal.algorithms.flexcfl import FlexCFL
from shoal.algorithms.flhc import FLHC
from shoal.algorithms.given import Given
from shoal.algorithms.ida import IDA
from shoal.algorithms.ifca import IFCA
from shoal.algorithms.local import Local
from shoal.algorithms.wecfl import WeCFL

ALGORITHMS: dict[str, type] = {
    "central": Central,
    "cfl": CFL,
    "fedadagrad": FedAdagrad,
    "fedadam": FedAdam,
    "fedavg": FedAvg,
    "fedavg+": FedAvgPlus,
    "fedfusion": FedFusion,
    "fedgroup": FedGroup,
    "fedgrouprox": FedGrouProx,
    "fedgsp": FedGSP,
    "fedmmd": FedMMD,
    "fedprox": FedProx,
    "fedprox+": FedProxPlus,
    "fedyogi": FedYogi,
    "fesem": FeSEM,
    "flexcfl": FlexCFL,
    "flhc": FLHC,
    "given": Given,
    "hypcluster": IFCA,
    "ida": IDA,
    "ifca": IFCA,
    "local": Local,
    "naivegsp": NaiveGSP,
    "naivegsp+icg": NaiveGSPICG,
    "wecfl": WeCFL,
}

__all__ = [
    "ALGORITHMS",
    "CFL",
    "Central",
    "FedAdagrad",
    "FedAdam",
    "FedAvg",
    "FedAvgPlus",
    "FedFusion",
    "FedGroup",
    "FedGrouProx",
    "FedGSP",
    "FedMMD",
    "FedProx",
    "FedProxPlus",
    "FedYogi",
    "FeSEM",
    "FLHC",
    "FlexCFL",
    "Given",
    "IDA",
    "IFCA",
    "Local",
    "NaiveGSP",
    "NaiveGSPICG",
    "WeCFL",
]
