"""The settings of a run: read from key=value or TOML, checked once, written down resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from shoal.errors import BadInput
from shoal.selection import All, Random, RoundRobinThenRandom
from shoal.types import Select

if TYPE_CHECKING:
    from shoal.solvers import SGD

__all__ = ["Settings", "check_settings"]

AUTO = "auto"  # stands where the name of an algorithm stands, and is replaced by one that trials decide
LISTS = ("track", "stop", "metrics", "class_weights")  # keys whose commas stand inside one value
SOLVER_KEYS = (
    *("lr", "epochs", "steps", "batch", "momentum", "momentum_memory", "weight_decay", "l2", "lr_decay"),
    *("optimiser", "optimiser_memory", "clip", "schedule"),
)


class Settings(BaseModel):
    """The keys every run has. What only one algorithm has is checked against that algorithm (`own_keys`).

    >>> Settings(rounds=3).lr
    0.03
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    data: str = Field("digits", description="data set, with arguments: mnist, synthetic:1:1, folder:PATH")
    partition: str | None = Field(None, description="how samples go to clients; default: the data set's own")
    model: str = Field("mclr", description="model, with arguments: mclr, mlp:hidden=64, wecfl-cifar; FILE.py:NAME")
    task: str = Field(
        "classification",
        description="what is learned: classification, binary, multilabel, regression, tokens, FILE.py:NAME",
    )
    metrics: str | None = Field(
        None, description="what is measured besides, several with commas: auc, macro_f1, mae, FILE.py:NAME"
    )
    score: str | None = Field(None, description="the metric that is the headline of the run; default: the task's own")
    class_weights: str | None = Field(
        None, description="weights of classes in the loss: balanced, or a number per class with commas"
    )
    rounds: int = Field(50, ge=0, description="communication rounds")
    stop: str | None = Field(
        None,
        description="what ends a run before its last round: score:patience=20 (rounds without a better score),"
        " target:0.9, time:30m, or several joined by +",
    )
    seed: int = Field(0, ge=0, description="decides every random draw")
    data_seed: int | None = Field(None, ge=0, description="seed of the partition alone; default: seed")
    clients_per_round: int | None = Field(None, ge=1, description="clients selected each round; default: 20, or all")
    selection: Literal["random", "round-robin-then-random", "all"] | None = Field(
        None, description="who takes part: random, round-robin-then-random, all; default: what the method is made for"
    )
    epochs: int = Field(1, ge=0, description="local passes over a client's samples")
    steps: int | None = Field(None, ge=0, description="local mini-batch steps, instead of epochs")
    batch: int = Field(10, ge=1, description="samples per step")
    lr: float = Field(
        0.03,
        ge=0,
        description="local learning rate; default 0.03 with optimiser=sgd, else what the optimiser itself has",
    )
    optimiser: str = Field(
        "sgd", description="who makes local steps: sgd, adam, adamw, rmsprop:alpha=0.9, or any class of torch.optim"
    )
    optimiser_memory: Literal["reset", "kept"] = Field(
        "reset", description="keep a client's optimiser state (moments, momentum) between rounds?"
    )
    clip: float | None = Field(None, gt=0, description="longest gradient of a local step; a longer one is scaled down")
    schedule: str = Field(
        "constant",
        description="learning rate over a client's local steps of a round: cosine, linear, warmup:10, warmup:10+cosine",
    )
    momentum: float = Field(0.0, ge=0, lt=1, description="momentum of local SGD")
    momentum_memory: Literal["reset", "kept"] = Field("reset", description="keep a client's momentum between rounds?")
    weight_decay: float = Field(0.0, ge=0, description="decay of all weights")
    l2: float = Field(0.0, ge=0, description="penalty l2 |W|^2 on kernels only")
    lr_decay: float = Field(1.0, gt=0, description="factor of the learning rate per round")
    aggregate: str | None = Field(
        None,
        description="how answers become the next model: median, trimmed-mean:0.2, clip:10+weighted-mean; default: the"
        " method's own",
    )
    val: float = Field(0.0, ge=0, lt=1, description="share of the training samples set aside for validation")
    engine: Literal["serial", "local", "ray", "flower"] = Field(
        "local",
        description="where clients work: one thread of this process, all cores, or a Ray cluster (flower: real sites;"
        " see shoal deploy)",
    )
    workers: int | None = Field(
        None, ge=1, description="threads or processes of engine=local, actors of engine=ray; default: one per core"
    )
    address: str | None = Field(
        None,
        description="of engine=ray: local (start Ray here), HOST:PORT, or auto (this machine's cluster, else local)",
    )
    kernel: Literal["auto", "torch", "native"] = Field(
        "auto",
        description="what trains: torch, or native (C, for small networks); auto: native where it can",
    )
    compile: Literal["auto", "on", "off"] = Field(
        "auto", description="train through torch.compile? auto: convolutions with batch norm, no max pooling, long runs"
    )
    device: str = Field("cpu", description="cpu or cuda (untested on hardware)")
    precision: Literal["float32", "float64", "bfloat16"] = Field(
        "float32",
        description="numbers of a model; bfloat16: float32, but torch multiplies in bfloat16 while it trains",
    )
    drift: str | None = Field(None, description="what happens to the data: swap-all:0.05, incremental, join:0.2@50")
    eval_every: int = Field(1, ge=1, description="rounds between tests")
    eval_clients: int | None = Field(None, ge=1, description="clients tested; default: all up to 10,000, else 1,000")
    per_class: bool = Field(
        True,
        description="count tests by class, for F1 and the labels of groups? sites may refuse: it tells their labels",
    )
    checkpoint_every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="rounds between checkpoints, or auto"
    )
    min_answers: int = Field(1, ge=0, description="answers a round needs, else it changes nothing")
    timeout: float | None = Field(None, gt=0, description="seconds a client may take for a task")
    track: str | None = Field(None, description="who else is told: tensorboard, mlflow, wandb, or several with commas")

    @model_validator(mode="before")
    @classmethod
    def rate_of_the_optimiser(cls, given: Any) -> Any:
        """The learning rate of another optimiser than SGD, where none is given."""
        if not isinstance(given, dict) or "lr" in given or str(given.get("optimiser", "sgd")) == "sgd":
            return given
        from shoal.solvers.optimiser import optimiser_of

        found = optimiser_of(str(given["optimiser"]))
        return given if found is None else {**given, "lr": float(found.default("lr"))}

    @field_validator(*LISTS, mode="before")
    @classmethod
    def joined(cls, names: Any) -> Any:
        return ",".join(map(str, names)) if isinstance(names, list | tuple) else names

    def solver(self) -> SGD:
        from shoal.solvers import SGD

        return SGD(**{name: getattr(self, name) for name in SOLVER_KEYS})

    def select(self, clients: int) -> Select:
        if self.selection == "all":
            return All()
        k = self.clients_per_round or min(20, clients)
        return RoundRobinThenRandom(k) if self.selection == "round-robin-then-random" else Random(k)


def check_settings(pairs: Mapping[str, Any]) -> Settings:
    """The settings from pairs of key and value, or one sentence on the first that is wrong.

    Args:
        pairs: Keys and values, which may be text.

    Returns:
        The settings, defaults put in.

    >>> check_settings({"rounds": "3"}).rounds
    3
    """
    tidy: dict[str, Any] = {
        k: v.replace("_", "-") if k == "selection" and isinstance(v, str) else v for k, v in pairs.items()
    }
    try:
        return Settings(**tidy)
    except ValidationError as e:
        raise as_bad_input(e, tidy) from e


def as_bad_input(error: ValidationError, pairs: Mapping[str, Any]) -> BadInput:
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
    from shoal.algorithms import ALGORITHMS  # brings torch, which whoever only reads settings does without

    return name != AUTO and bool(ALGORITHMS.traits(name)["needs_all_clients"])
