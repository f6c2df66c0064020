"""From names or objects to a plan: everything a user can get wrong is found here, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from shoal.algorithms import ALGORITHMS
from shoal.backends import BACKENDS, Backend, RayWorkers, Serial, Workers
from shoal.data.build import build, build_kept, is_own
from shoal.data.drift import parse_drift
from shoal.data.federation import Federation, Living, Source
from shoal.data.spec import parse
from shoal.errors import BadInput, RunFolderError, unknown
from shoal.layout import Layout, ModelFactory, factory_of
from shoal.loop.plan import Plan
from shoal.loop.stopping import parse_stop
from shoal.models import MODELS, factory
from shoal.objectives import Objective
from shoal.observers import check_trackers
from shoal.seeds import Key
from shoal.selection import most
from shoal.setup.arithmetic import choose_arithmetic, local_steps
from shoal.setup.options import build_algorithm, config_with_values
from shoal.setup.own import origins_of
from shoal.setup.resolve import Resolved, resolve
from shoal.setup.settings import SOLVER_KEYS, Settings
from shoal.setup.task import check_method, check_outputs, objective_of, outputs_for, score_keys
from shoal.store.folder import OWN
from shoal.tree import Tree
from shoal.types import Algorithm

__all__ = ["Prepared", "build_plan", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """A plan, its settings, what `config.toml` will say, and what the user should know before it begins.

    Attributes:
        plan: What `run_rounds` takes.
        settings: Resolved: no value is left to be chosen.
        config: What `config.toml` will say.
        label: The name of the algorithm.
        note: A sentence for the user; None: there is nothing to say.

    >>> prepare("fedavg", "digits", None, {"rounds": 1}).settings.kernel in ("native", "torch")
    True
    """

    plan: Plan
    settings: Settings
    config: Mapping[str, Any]
    label: str
    note: str | None = None


def prepare(
    algorithm: str | Algorithm,
    federation: str | Source | None,
    model: str | ModelFactory | None,
    pairs: Mapping[str, Any],
    fingerprint: str | None = None,
) -> Prepared:
    """Check all settings and build the plan of one run: `resolve` and `build_plan` in one call.

    Args:
        algorithm: A name or an object.
        federation: The name of a data set, or an object.
        model: A name, or a function that makes one.
        pairs: Keys and values.
        fingerprint: That of the data which a resumed run must have.

    Returns:
        The plan and what goes with it.

    >>> prepare("fedavg", "digits", None, {"rounds": 1}).plan.layout.size
    650
    """
    return build_plan(resolve(algorithm, federation, model, pairs), fingerprint)


def build_plan(asked: Resolved, fingerprint: str | None = None) -> Prepared:
    """The plan of a run whose settings are resolved; `fingerprint` is that of the data it must have.

    Args:
        asked: What `resolve` gave.
        fingerprint: That of the data which a resumed run must have.

    Returns:
        The plan and what goes with it.

    >>> build_plan(resolve("fedavg", "digits", "mlp:hidden=32", {})).plan.layout.size
    2410
    """
    settings = asked.settings
    source = load_federation(settings, asked.federation)
    mark = source.fingerprint()
    if fingerprint is not None and mark != fingerprint:
        raise RunFolderError("the data is not what the run began with; put the same data back to go on")
    clients = len(source.roster)
    check_device(settings.device)
    check_trackers(settings.track)
    chosen = asked.algorithm
    if isinstance(chosen, str):
        chosen = build_algorithm(chosen, asked.own, settings, clients)
    if fingerprint is None or not isinstance(source, Living):  # clients of a living one come and go: some may be away
        check_answers(settings, most_asked(chosen, settings, clients))
    task = objective_of(settings, asked.objective, asked.metrics, source)
    check_method(task, chosen)
    layout = make_layout(settings, asked.model, source, chosen, task)
    asked_for = cohort_size(settings, clients)
    steps = local_steps(chosen.solver, source.roster.sizes_N, asked_for, settings.rounds)
    arithmetic = choose_arithmetic(settings, layout, source, steps, chosen.solver)
    compiled = "on" if arithmetic.compiled else "off"
    settings = settings.model_copy(update={"kernel": arithmetic.kernel, "compile": compiled})
    marks = {"fingerprint": mark, "model_digest": layout.digest()}
    drift = parse_drift(settings.drift or "none")
    if drift.scenarios:
        drift.begin(source)
    plan = Plan(
        algorithm=chosen,
        federation=source,
        layout=layout,
        rounds=settings.rounds,
        seed=settings.seed,
        eval_every=settings.eval_every,
        eval_clients=settings.eval_clients,
        per_class=settings.per_class,
        drift=drift,
        arithmetic=arithmetic,
    )
    config = {**config_of(asked, chosen, settings, clients), **score_keys(task.headline), **marks}
    plan = replace(plan, stop=parse_stop(settings.stop, plan.score))
    notes = cohort_note(settings, clients), coverage_note(asked.name, chosen, settings, clients)
    return Prepared(plan, settings, config, asked.name, "; ".join(filter(None, notes)) or None)


def coverage_note(name: str, algorithm: Algorithm, settings: Settings, clients: int) -> str | None:
    """A sentence if the selection will leave some clients without a model: then no round tests everybody."""
    lazy = name in ALGORITHMS and ALGORITHMS.traits(name).get("serves_when_selected")
    asked = cohort_size(settings, clients)
    if not lazy or asked == clients or not settings.rounds:
        return None
    in_order, whole = settings.selection == "round-robin-then-random", -(-clients // asked)
    never = max(1 - asked * settings.rounds / clients, 0) if in_order else (1 - asked / clients) ** settings.rounds
    left = never * (clients - getattr(algorithm, "grouped_at_start", lambda clients: 0)(clients))
    if left < 0.5:
        return None
    way = f"rounds={whole}" if in_order else f"selection=round-robin-then-random with rounds={whole} or more"
    return (
        f"{name} gives a client its model when it is first selected: with {asked} of {clients:,} clients a round about "
        f"{left:,.0f} will have none after {settings.rounds} rounds, and a round that cannot test all is partial; "
        f"{way} asks everybody"
    )


def cohort_size(settings: Settings, clients: int) -> int:
    """How many clients a round asks."""
    return clients if settings.selection == "all" else min(settings.clients_per_round or 20, clients)


def most_asked(algorithm: Algorithm, settings: Settings, clients: int) -> int:
    """How many answers a round of an algorithm can have at most: of its clients, or of groups that train in chains."""
    select = getattr(algorithm, "select", None)
    if select is not None:
        return most(select, clients)
    parallel = algorithm.parallel(settings.rounds, clients) if settings.rounds else None
    if parallel is None:
        return clients
    return max(round(groups * share) for groups, share, _ in parallel.each_round(clients))


def check_answers(settings: Settings, most: int) -> None:
    """A sentence if a round cannot have the answers that it is to have."""
    if settings.min_answers > most:
        raise BadInput(f"min_answers={settings.min_answers} can never be reached: a round asks {most} at most")


def cohort_note(settings: Settings, clients: int) -> str | None:
    """A sentence if a round is to ask more clients than there are: then it asks all."""
    if settings.selection == "all" or (settings.clients_per_round or 0) <= clients:
        return None
    return f"clients_per_round={settings.clients_per_round}, and there are {clients}: a round asks all of them"


def load_federation(settings: Settings, federation: Source | None = None) -> Source:
    """The federation that was given as an object, or the one that the settings name."""
    seed = settings.seed if settings.data_seed is None else settings.data_seed
    if federation is not None:
        source = federation
    else:  # own files may change between two runs, the named data sets do not
        named = settings.data, settings.partition
        source = build(*named, Key(seed)) if is_own(settings.data) else build_kept(*named, seed)
    if settings.val:
        if not isinstance(source, Federation):
            raise BadInput("val needs a federation in memory; clients produced on demand have no validation split")
        source = source.with_validation(settings.val, Key(seed)("val"))
    return source


def check_device(name: str) -> None:
    try:
        device = torch.device(name)
    except RuntimeError as e:
        raise BadInput(f"device={name} is not possible: use cpu or cuda") from e
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BadInput(f"device={name} is not possible: this machine has no CUDA device; use device=cpu")
    if device.type not in ("cpu", "cuda"):
        raise BadInput(f"device={name} is not possible: use cpu or cuda")


def make_layout(
    settings: Settings,
    model: ModelFactory | None,
    source: Source,
    algorithm: Algorithm | None = None,
    task: Objective | None = None,
) -> Layout:
    """The layout of the model that the algorithm trains; without an algorithm, of the model as it is."""
    task = task or objective_of(settings, source=source)
    if model is None:
        spec = parse(MODELS.named(settings.model))
        model = factory(spec.name, source.shape, outputs_for(task, source), *spec.args, **spec.kwargs)
    dtype = "float64" if settings.precision == "float64" else "float32"
    layout = Layout.of(wrapped(algorithm, model, source.sample()), source.sample(), dtype, task)
    check_outputs(task, layout, source)
    _ = layout.sums  # what is wrong with a metric is said now
    return layout


def wrapped(algorithm: Algorithm | None, model: ModelFactory, sample: Tree) -> ModelFactory:
    """The model as the algorithm wants it; most take it as it is."""
    return model if algorithm is None else algorithm.wrap(factory_of(model), sample)


def config_of(asked: Resolved, chosen: Algorithm, settings: Settings, clients: int) -> dict[str, Any]:
    """The resolved settings; what was given as an object is marked as the user's own."""
    if isinstance(asked.algorithm, str):
        config = config_with_values(asked.name, chosen, settings, clients)
    else:
        skip = (*SOLVER_KEYS, "selection", "clients_per_round")
        config = {"algorithm": OWN, "object": repr(chosen)}
        config |= {k: v for k, v in settings.model_dump().items() if v is not None and k not in skip}
    own = {"data": asked.federation, "model": asked.model, "task": asked.objective}
    config |= {key: OWN for key, given in own.items() if given is not None}
    found = origins_of(config)
    return {**config, "origins": found} if found else config


def engine_key(engine: str | Backend) -> dict[str, Any]:
    """The key `engine` of a run; a back end object says its name, and one that is none of ours leaves the default.

    >>> engine_key("ray"), engine_key(Serial())
    ({'engine': 'ray'}, {'engine': 'serial'})
    """
    name = engine if isinstance(engine, str) else getattr(engine, "name", None)
    return {"engine": name} if isinstance(engine, str) or name in (*BACKENDS, "flower") else {}


def check_engine(engine: str) -> None:
    """A sentence if a run cannot have an engine of that name.

    >>> check_engine("lokal")
    Traceback (most recent call last):
    shoal.errors.BadInput: unknown engine 'lokal'; did you mean 'local'? Known: local, ray, serial.
    """
    if engine == "flower":
        raise BadInput(
            "engine=flower means real sites, which `shoal deploy` is for; simulate with serial, local or ray"
        )
    if engine not in BACKENDS:
        raise unknown("engine", engine, BACKENDS)


@contextmanager
def open_backend(engine: str | Backend, workers: int | None, address: str | None = None) -> Iterator[Backend]:
    """The back end of that name, closed afterwards; one that was given stays open."""
    if not isinstance(engine, str):
        yield engine
        return
    check_engine(engine)
    if address is not None and engine != "ray":
        raise BadInput(f"address={address} belongs to engine=ray, not to engine={engine}; leave it out")
    backend: Backend
    if engine == "ray":
        backend = RayWorkers(workers, address or "auto")
    else:
        backend = Serial() if engine == "serial" else Workers(workers)
    try:
        yield backend
    finally:
        backend.close()
