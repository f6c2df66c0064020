"""The algorithms, one file each. Each declares its names itself; `ALGORITHMS` is what everything else reads."""

from shoal.algorithms.central import Central as Central
from shoal.algorithms.cfl import CFL as CFL
from shoal.algorithms.ensemble import FedAvgPlus as FedAvgPlus
from shoal.algorithms.ensemble import FedProxPlus as FedProxPlus
from shoal.algorithms.fedavg import FedAvg as FedAvg
from shoal.algorithms.fedfusion import FedFusion as FedFusion
from shoal.algorithms.fedgroup import FedGroup as FedGroup
from shoal.algorithms.fedgrouprox import FedGrouProx as FedGrouProx
from shoal.algorithms.fedgsp import FedGSP as FedGSP
from shoal.algorithms.fedmmd import FedMMD as FedMMD
from shoal.algorithms.fedopt import FedAdagrad as FedAdagrad
from shoal.algorithms.fedopt import FedAdam as FedAdam
from shoal.algorithms.fedopt import FedYogi as FedYogi
from shoal.algorithms.fedprox import FedProx as FedProx
from shoal.algorithms.fesem import FeSEM as FeSEM
from shoal.algorithms.flexcfl import FlexCFL as FlexCFL
from shoal.algorithms.flhc import FLHC as FLHC
from shoal.algorithms.given import Given as Given
from shoal.algorithms.ida import IDA as IDA
from shoal.algorithms.ifca import IFCA as IFCA
from shoal.algorithms.local import Local as Local
from shoal.algorithms.naivegsp import NaiveGSP as NaiveGSP
from shoal.algorithms.naivegsp import NaiveGSPICG as NaiveGSPICG
from shoal.algorithms.registry import ALGORITHMS as ALGORITHMS
from shoal.algorithms.registry import algorithm as algorithm
from shoal.algorithms.wecfl import WeCFL as WeCFL
