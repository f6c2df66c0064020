"""One peer in a process of its own: `python -m shoal.bench.peers PEER WORKLOAD [quick]`."""

from __future__ import annotations

import importlib
import json
import sys
from importlib.metadata import version

from shoal.bench.peers import ROUNDS, Job
from shoal.bench.workloads import WORKLOADS

PACKAGES = {"fluke": "fluke-fl", "fedjax_hypcluster": "fedjax"}
EPOCHS = ("fluke",)  # they know no steps, only epochs, the same number for all

if __name__ == "__main__":
    peer, name, *rest = sys.argv[1:]
    workload = WORKLOADS[name].quick() if rest else WORKLOADS[name]
    job = Job.of(workload)
    seconds = importlib.import_module(f"shoal.bench.peers.with_{peer}").play(job, 1 if rest else ROUNDS)
    steps = job.whole_epochs if peer in EPOCHS else job.steps
    print(json.dumps({"seconds": seconds, "steps": steps, "version": version(PACKAGES.get(peer, peer))}))
