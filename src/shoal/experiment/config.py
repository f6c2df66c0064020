"""The settings of a run: read from key=value or TOML, checked once, written down resolved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from shoal.algorithms import ALGORITHMS
from shoal.errors import BadInput, unknown
from shoal.selection import All, Random, RoundRobinThenRandom
from shoal.solvers import SGD
from shoal.types import Algorithm, Select

SOLVER_KEYS = tuple(f.name for f in dataclasses.fields(SGD) if f.name not in ("shuffle", "terms"))
PARTS = ("select", "solver", "aggregate")  # fields of an algorithm that are not keys by themselves


class Settings(BaseModel):
    """The keys every run has. What only one algorithm has is checked against that algorithm (`own_keys`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str = Field("digits", description="data set, with arguments: mnist, synthetic:1:1, folder:PATH")
    partition: str | None = Field(None, description="how samples go to clients; default: the data set's own")
    model: str = Field("mclr", description="model, with arguments: mclr, mlp:hidden=64, wecfl-cifar")
    rounds: int = Field(50, ge=0, description="communication rounds")
    seed: int = Field(0, ge=0, description="decides every random draw")
    data_seed: int | None = Field(None, ge=0, description="seed of the partition alone; default: seed")
    clients_per_round: int | None = Field(None, ge=1, description="clients selected each round; default: 20, or all")
    selection: Literal["random", "round-robin-then-random", "all"] | None = Field(
        None, description="who takes part: random, round-robin-then-random, all; default: random, cfl and wecfl: all"
    )
    epochs: int = Field(1, ge=0, description="local passes over a client's samples")
    steps: int | None = Field(None, ge=0, description="local mini-batch steps, instead of epochs")
    batch: int = Field(10, ge=1, description="samples per step")
    lr: float = Field(0.03, ge=0, description="local learning rate")
    momentum: float = Field(0.0, ge=0, lt=1, description="momentum of local SGD")
    momentum_memory: Literal["reset", "kept"] = Field("reset", description="keep a client's momentum between rounds?")
    weight_decay: float = Field(0.0, ge=0, description="decay of all weights")
    l2: float = Field(0.0, ge=0, description="penalty l2 |W|^2 on kernels only")
    lr_decay: float = Field(1.0, gt=0, description="factor of the learning rate per round")
    val: float = Field(0.0, ge=0, lt=1, description="share of the training samples set aside for validation")
    engine: Literal["serial", "local"] = Field("local", description="where clients work: this process or workers")
    workers: int | None = Field(None, ge=1, description="worker processes of the local engine; default: one per core")
    kernel: Literal["auto", "torch", "native"] = Field(
        "auto",
        description="what trains: torch, or native (C, for perceptrons and small conv nets); auto: native where it can",
    )
    compile: Literal["auto", "on", "off"] = Field(
        "auto", description="train through torch.compile? auto: convolutions with batch norm, no max pooling, long runs"
    )
    device: str = Field("cpu", description="cpu or cuda (no test covers cuda yet)")
    precision: Literal["float32", "float64"] = Field("float32", description="numbers of a model")
    drift: str | None = Field(None, description="what happens to the data: swap-all:0.05, incremental, join:0.2@50")
    eval_every: int = Field(1, ge=1, description="rounds between tests")
    eval_clients: int | None = Field(None, ge=1, description="clients tested; default: all up to 10,000, else 1,000")
    checkpoint_every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="rounds between checkpoints, or auto"
    )
    min_answers: int = Field(1, ge=0, description="answers a round needs, else it changes nothing")
    timeout: float | None = Field(None, gt=0, description="seconds a client may take for a task")
    track: str | None = Field(None, description="who else is told: tensorboard, mlflow, wandb, or several with commas")

    @field_validator("track", mode="before")
    @classmethod
    def joined(cls, names: Any) -> Any:
        return ",".join(map(str, names)) if isinstance(names, list | tuple) else names

    def solver(self) -> SGD:
        return SGD(**{name: getattr(self, name) for name in SOLVER_KEYS})

    def select(self, clients: int) -> Select:
        if self.selection == "all":
            return All()
        k = self.clients_per_round or min(20, clients)
        return RoundRobinThenRandom(k) if self.selection == "round-robin-then-random" else Random(k)


def check_settings(pairs: Mapping[str, Any]) -> Settings:
    """The settings from pairs of key and value, or one sentence on the first that is wrong.

    >>> check_settings({"rounds": "3"}).rounds
    3
    """
    tidy: dict[str, Any] = {
        k: v.replace("_", "-") if k == "selection" and isinstance(v, str) else v for k, v in pairs.items()
    }
    try:
        return Settings(**tidy)
    except ValidationError as e:
        raise sentence(e, tidy) from e


def sentence(error: ValidationError, pairs: Mapping[str, Any]) -> BadInput:
    first = error.errors()[0]
    key = str(first["loc"][0])
    return BadInput(f"{key}={pairs.get(key)!s} is not possible: {first['msg'][0].lower()}{first['msg'][1:]}")


def with_selection(algorithms: Iterable[str], settings: Settings) -> Settings:
    """The settings with the selection that is used: as given; else everybody if one of the algorithms needs it."""
    if settings.selection is not None:
        return settings
    whole = any(needs_everybody(name) for name in algorithms) and settings.clients_per_round is None
    return settings.model_copy(update={"selection": "all" if whole else "random"})


def needs_everybody(name: str) -> bool:
    """Whether an algorithm is made for full participation."""
    selects = [f.default for f in dataclasses.fields(ALGORITHMS[name]) if f.name == "select"]
    return bool(selects) and selects[0] == All()


def own_keys(name: str) -> dict[str, dataclasses.Field[Any]]:
    """The keys that only this algorithm has."""
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    own = [f for f in dataclasses.fields(ALGORITHMS[name]) if f.name not in PARTS]
    return {f.metadata.get("key") or f.name: f for f in own}


def split_keys(
    algorithms: tuple[str, ...], pairs: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Pairs for every run, and per algorithm the pairs that are its own; a key that nobody has is an error.

    A mapping under the name of an algorithm holds own keys of that one alone, and goes before the others.

    >>> split_keys(("fedprox",), {"rounds": 3, "mu": 1, "fedprox": {"mu": 2}})
    ({'rounds': 3}, {'fedprox': {'mu': 2}})
    """
    common: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {name: {} for name in algorithms}
    theirs = {name: own_keys(name) for name in algorithms}
    for key, value in pairs.items():
        if key in Settings.model_fields:
            common[key] = value
            continue
        if key in algorithms and isinstance(value, Mapping):
            continue
        owners = [name for name in algorithms if key in theirs[name]]
        if not owners:
            known = {*Settings.model_fields, *(k for keys in theirs.values() for k in keys)}
            raise unknown("key", key, known, "`shoal list keys` explains them.")
        for name in owners:
            own[name][key] = value
    for name in algorithms:
        table = pairs.get(name)
        if isinstance(table, Mapping):
            for key in table:
                if key not in theirs[name]:
                    raise unknown(f"own key of {name}", key, theirs[name])
            own[name] |= table
    return common, own


def build_algorithm(name: str, own: Mapping[str, Any], settings: Settings, clients: int) -> Algorithm:
    """The algorithm with its parts put in."""
    cls, known = ALGORITHMS[name], own_keys(name)
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in own.items():
        if key not in known:
            raise unknown(f"key of {name}", key, known)
        field = known[key]
        try:
            values[field.name] = TypeAdapter(hints[field.name]).validate_python(value)
        except ValidationError as e:
            raise BadInput(f"{key}={value} is not possible: {e.errors()[0]['msg'].lower()}") from e
        low = field.metadata.get("low")
        if low is not None and not isinstance(values[field.name], str) and values[field.name] < low:
            raise BadInput(f"{key}={value} is not possible: it must be at least {low:g}")
    fields = {f.name for f in dataclasses.fields(cls)}
    parts = {"select": settings.select(clients), "solver": settings.solver()}
    algorithm: Algorithm = cls(**values, **{k: v for k, v in parts.items() if k in fields})
    return algorithm


def resolved(name: str, algorithm: Algorithm, settings: Settings, clients: int) -> dict[str, Any]:
    """Every setting with the value it had, ready for `config.toml`; what is None is left out."""
    out: dict[str, Any] = {"algorithm": name}
    out |= {k: v for k, v in settings.model_dump().items() if v is not None}
    if settings.selection != "all" and "select" in {f.name for f in dataclasses.fields(type(algorithm))}:  # type: ignore[arg-type]
        out["clients_per_round"] = settings.clients_per_round or min(20, clients)
    own = {k: getattr(algorithm, f.name) for k, f in own_keys(name).items() if getattr(algorithm, f.name) is not None}
    return {**out, name: own} if own else out
