"""Back ends: where the work of clients is done. `BACKENDS` names them as `engine=` on the command line does."""

from shoal.backends.backend import Backend, Outcome, Unit
from shoal.backends.ray_workers import RayWorkers
from shoal.backends.serial import Serial
from shoal.backends.site import Site
from shoal.backends.workers import Workers

BACKENDS: dict[str, type] = {"serial": Serial, "local": Workers, "ray": RayWorkers}

__all__ = ["BACKENDS", "Backend", "Outcome", "RayWorkers", "Serial", "Site", "Unit", "Workers"]
