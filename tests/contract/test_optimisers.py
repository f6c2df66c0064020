"""Laws of local optimisers in whole runs: the same bits on every engine and after a kill, whatever clients keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import small_net

import shoal
from shoal.backends import Serial, Workers
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.experiment.engines_agree import digest_of

KEPT: dict[str, Any] = {"optimiser": "adam", "optimiser_memory": "kept", "clip": 1.0, "schedule": "warmup:2+cosine"}
OWN: dict[str, dict[str, Any]] = {
    "fedprox": {"mu": 0.1, "steps": 5},
    "fedgsp": {"beta": 3, "alpha": 1, "kappa": 1},  # chains of clients
    "flexcfl": {"groups": 2, "pretrain_steps": 6, "drift": "swap-all:0.3"},  # pre-trains, clients keep vectors
    "fedgroup": {"groups": 2, "reuse_pretraining": True, "pretrain": "epoch", "epochs": 2},
    "fedavg+": {"members": 2},  # a state per member
    "ifca": {"groups": 2},
}


@pytest.mark.parametrize("name", OWN)
def test_workers_and_one_process_end_on_the_same_bits(name: str, toy: Federation, pool: Workers) -> None:
    keys: dict[str, Any] = {"rounds": 3, "seed": 1, "lr": 0.01, **KEPT, **OWN[name]}
    one, two = (shoal.run(name, toy, small_net, engine=engine, **keys) for engine in (Serial(), pool))
    assert not one.summary["left_out"]
    assert digest_of(one) == digest_of(two)
    forgotten = shoal.run(name, toy, small_net, engine=Serial(), **{**keys, "optimiser_memory": "reset"})
    assert forgotten.serving.models_KP.tobytes() != one.serving.models_KP.tobytes()


class Cut(shoal.Observer):
    """Ends a run as a kill does: after a round that has no checkpoint."""

    def after_round(self, result: Any) -> None:
        if result.round == 4:
            raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["fedavg+", "fedgsp"])
def test_a_run_that_is_cut_goes_on_with_the_state_that_clients_kept(name: str, toy: Federation, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"rounds": 6, "seed": 1, "engine": Serial(), "checkpoint_every": 3, **KEPT, **OWN[name]}
    whole = shoal.run(name, toy, small_net, **keys)
    with pytest.raises(KeyboardInterrupt):
        shoal.run(name, toy, small_net, out=tmp_path / "run", observers=[Cut()], **keys)
    assert [p.stem for p in sorted((tmp_path / "run" / "checkpoints").iterdir())] == [
        "round_00000000",
        "round_00000003",
    ]
    again = shoal.resume(tmp_path / "run", federation=toy, model=small_net, engine=Serial())
    assert digest_of(again) == digest_of(whole)


def test_the_native_kernel_is_for_plain_sgd() -> None:
    with pytest.raises(BadInput, match="kernel=native makes steps of plain SGD only, so optimiser=adam needs kernel="):
        shoal.run("fedavg", rounds=1, kernel="native", optimiser="adam")
    with pytest.raises(BadInput, match=r"so clip=0\.5 needs kernel=torch"):
        shoal.run(shoal.FedAvg(solver=shoal.SGD(clip=0.5)), rounds=1, kernel="native")
    run = shoal.run("fedavg", rounds=1, optimiser="adam", engine="serial")
    assert run.plan.arithmetic.kernel == "torch"
    assert run.plan.algorithm.solver == shoal.SGD(optimiser="adam", lr=0.001)  # the rate that Adam itself has
    assert shoal.run("fedavg", rounds=1, optimiser="adam", lr=0.1, engine="serial").plan.algorithm.solver == shoal.SGD(
        optimiser="adam", lr=0.1
    )
