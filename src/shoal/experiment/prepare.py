"""From names or objects to a plan: everything a user can get wrong is found here, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import torch

from shoal.data.build import build, is_own
from shoal.data.drift import parse_drift
from shoal.data.federation import Federation, Source
from shoal.data.spec import parse
from shoal.engines import ENGINES, Backend, Serial, Workers
from shoal.errors import BadInput, RunFolderError, unknown
from shoal.experiment.arithmetic import compiles, local_steps
from shoal.experiment.callbacks import check_trackers
from shoal.experiment.config import (
    SOLVER_KEYS,
    Settings,
    build_algorithm,
    check_settings,
    resolved,
    split_keys,
    with_selection,
)
from shoal.experiment.loop import Plan
from shoal.kernels import Network, native
from shoal.layout import Layout, ModelFactory, factory_of, seeded
from shoal.models import factory
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.types import Algorithm, Array

OWN = "<own>"  # stands in config.toml for something that was given as an object


@dataclass(frozen=True)
class Prepared:
    """A plan, its settings, and what `config.toml` will say."""

    plan: Plan
    settings: Settings
    config: Mapping[str, Any]
    label: str


def prepare(
    algorithm: str | Algorithm,
    federation: str | Source | None,
    model: str | ModelFactory | None,
    pairs: Mapping[str, Any],
    fingerprint: str | None = None,
) -> Prepared:
    """Check all settings and build the plan of one run; `fingerprint` is that of the data it must have."""
    pairs = dict(pairs)
    for key, given in (("data", federation), ("model", model)):
        if given is not None and key in pairs:
            raise BadInput(f"{key} is given twice, by name and as an argument; leave one out")
        if isinstance(given, str):
            pairs[key] = given
    if not isinstance(federation, str | None) and pairs.get("partition") is not None:
        raise BadInput("a federation that is given as an object is already dealt to clients; leave partition out")
    if not isinstance(federation, str | None) and not hasattr(federation, "roster"):
        raise BadInput(f"a federation is the name of a data set or a Federation, not {type(federation).__name__}")
    settings, own = settings_of(algorithm, pairs)
    source = load(settings, federation)
    mark = source.fingerprint()
    if fingerprint is not None and mark != fingerprint:
        raise RunFolderError("the data is not what the run began with; put the same data back to go on")
    clients = len(source.roster)
    if settings.clients_per_round is not None and settings.clients_per_round > clients:
        raise BadInput(
            f"clients_per_round={settings.clients_per_round} but the federation has {clients} clients; "
            f"use clients_per_round={clients} or selection=all"
        )
    asked = min(settings.clients_per_round or 20, clients) if settings.selection != "all" else clients
    if settings.min_answers > asked:
        raise BadInput(f"min_answers={settings.min_answers} can never be reached: a round asks {asked} clients")
    check_device(settings.device)
    check_trackers(settings.track)
    name = algorithm if isinstance(algorithm, str) else type(algorithm).__name__.lower()
    chosen = build_algorithm(name, own, settings, clients) if isinstance(algorithm, str) else algorithm
    layout = make_layout(settings, model, source, chosen)
    steps = local_steps(getattr(chosen, "solver", None), source.roster.sizes_N, asked, settings.rounds)
    how = choose_arithmetic(settings, layout, source, steps)
    settings = settings.model_copy(update={"kernel": how.kernel, "compile": "on" if how.compiled else "off"})
    marks = {"fingerprint": mark, "model_digest": layout.digest()}
    config = config_of(name, chosen, algorithm, federation, model, settings, source, marks)
    drift = parse_drift(settings.drift or "none")
    if drift.scenarios:
        drift.begin(source)
    plan = Plan(
        chosen, source, layout, settings.rounds, settings.seed, settings.eval_every, settings.eval_clients, drift, how
    )
    return Prepared(plan, settings, config, name)


def settings_of(algorithm: str | Algorithm, pairs: Mapping[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """The settings, and the keys that belong to the algorithm alone."""
    if isinstance(algorithm, str):
        common, own = split_keys((algorithm,), pairs)
        return with_selection((algorithm,), check_settings(common)), own[algorithm]
    if isinstance(algorithm, type):
        raise BadInput(f"give the algorithm as a name or an instance, for instance {algorithm.__name__}()")
    fixed = [k for k in pairs if k in SOLVER_KEYS or k in ("selection", "clients_per_round")]
    if fixed:
        raise BadInput(f"{fixed[0]} belongs to the algorithm you gave as an object; set it there (solver=, select=)")
    strange = [k for k in pairs if k not in Settings.model_fields]
    if strange:
        raise unknown("key", strange[0], Settings.model_fields)
    return check_settings(pairs), {}


def load(settings: Settings, federation: str | Source | None) -> Source:
    seed = settings.seed if settings.data_seed is None else settings.data_seed
    if not isinstance(federation, str | None):
        source = federation
    else:  # own files may change between two runs, the named data sets do not
        source = (build_one if is_own(settings.data) else built)(settings.data, settings.partition, seed)
    if settings.val:
        if not isinstance(source, Federation):
            raise BadInput("val needs a federation in memory; clients produced on demand have no validation split")
        source = source.with_validation(settings.val, Key(seed)("val"))
    return source


def build_one(data: str, partition: str | None, seed: int) -> Source:
    """The named federation."""
    return build(data, partition, Key(seed))


built = lru_cache(maxsize=1)(build_one)  # the runs of a sweep over algorithms share one


def check_device(name: str) -> None:
    try:
        device = torch.device(name)
    except RuntimeError as e:
        raise BadInput(f"device={name} is not possible: use cpu or cuda") from e
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BadInput(f"device={name} is not possible: this machine has no CUDA device; use device=cpu")
    if device.type not in ("cpu", "cuda"):
        raise BadInput(f"device={name} is not possible: use cpu or cuda")


def choose_arithmetic(settings: Settings, layout: Layout, source: Source, steps: float) -> Arithmetic:
    """How the run computes; torch.compile is for what torch trains."""
    wanted = settings.kernel
    if settings.compile == "on":
        if wanted == "native":
            raise BadInput("compile=on and kernel=native exclude each other: use one of them")
        wanted = "torch"
    kernel = choose_kernel(wanted, settings.device, layout)
    return Arithmetic(settings.device, kernel, kernel == "torch" and compiles(settings.compile, layout, source, steps))


def choose_kernel(wanted: str, device: str, layout: Layout) -> Literal["torch", "native"]:
    """What trains clients; a function of the model and of what is installed, never of timing."""
    if wanted == "torch":
        return "torch"
    if native() is None:
        why = "it was not built when Shoal was installed, which needs a C compiler"
    elif torch.device(device).type != "cpu":
        why = "it runs on the CPU only"
    elif Network.of(seeded(layout.factory, 0)) is None:
        why = "the model is not a chain of convolutions, ReLU, max pooling by two and linear layers alone"
    else:
        return "native"
    if wanted == "native":
        raise BadInput(f"kernel=native is not possible: {why}; use kernel=torch")
    return "torch"


def make_layout(
    settings: Settings, model: str | ModelFactory | None, source: Source, algorithm: Algorithm | None = None
) -> Layout:
    """The layout of the model that the algorithm trains; without one, of the model as it is."""
    if model is None or isinstance(model, str):
        spec = parse(settings.model)
        model = factory(spec.name, source.shape, source.classes, *spec.args, **spec.kwargs)
    layout = Layout.of(wrapped(algorithm, model, source.sample()), source.sample(), settings.precision)
    if layout.classes < source.classes:
        raise BadInput(f"the model tells {layout.classes} classes apart but the data has {source.classes}")
    return layout


def wrapped(algorithm: Algorithm | None, model: ModelFactory, sample: Array) -> ModelFactory:
    """The model as the algorithm wants it; most take it as it is."""
    wrap = getattr(algorithm, "wrap", None)
    made: ModelFactory = model if wrap is None else wrap(factory_of(model), sample)
    return made


def config_of(
    name: str,
    chosen: Algorithm,
    algorithm: str | Algorithm,
    federation: str | Source | None,
    model: str | ModelFactory | None,
    settings: Settings,
    source: Source,
    marks: Mapping[str, str],
) -> dict[str, Any]:
    """The resolved settings; what was given as an object is marked as the user's own."""
    if isinstance(algorithm, str):
        config = resolved(name, chosen, settings, len(source.roster))
    else:
        skip = (*SOLVER_KEYS, "selection", "clients_per_round")
        config = {"algorithm": OWN, "object": repr(algorithm)}
        config |= {k: v for k, v in settings.model_dump().items() if v is not None and k not in skip}
    if not isinstance(federation, str | None):
        config["data"] = OWN
    if not isinstance(model, str | None):
        config["model"] = OWN
    return {**config, **marks}


def make_backend(engine: str | Backend, workers: int | None) -> tuple[Backend, bool]:
    """The back end, and whether it is ours to close."""
    if not isinstance(engine, str):
        return engine, False
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    return (Serial() if engine == "serial" else Workers(workers)), True
