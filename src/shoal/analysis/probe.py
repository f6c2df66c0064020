"""How alike clients learn, before one chooses a method: some pre-train for a moment, and all measures are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.algorithms.parts.cold_start import group_labels
from shoal.algorithms.parts.number_of_groups import number_of_groups
from shoal.data.federation import Source
from shoal.engine import Engine
from shoal.errors import BadInput
from shoal.layout import Layout, ModelFactory
from shoal.measures import cosine, edc, madc, pairwise, relative_contrast
from shoal.measures.gram import coordinates
from shoal.metrics import adjusted_rand
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.selection import Random
from shoal.setup.arithmetic import choose_kernel
from shoal.setup.prepare import load_federation, make_layout, open_backend
from shoal.setup.settings import Settings, check_settings
from shoal.tasks import Train
from shoal.types import Array, Cohort

__all__ = ["ModelSimilarity", "Probe", "probe"]

STEPS, CLIENTS, GROUPS = 50, 100, 5  # FedGroup's pre-training, its cold start with groups=auto, and the m of EDC
DIRECTIONS = (2, 3, 5, 10)  # numbers m for which EDC is compared with MADC
KEYS = ("data", "partition", "task", "seed", "data_seed", "lr", "batch", "steps", "engine", "workers", "address")


@dataclass(frozen=True, kw_only=True)
class ModelSimilarity:
    """How alike clients learn with one model: distances of their pre-training updates, and groups that they suggest.

    Attributes:
        model: Its name.
        parameters: Its trainable parameters.
        contrast: (max - min) / min over all pairs, by measure.
        correlation: Of EDC with MADC over all pairs, by the number m of directions.
        line: Slope and intercept of EDC over MADC, m as asked for.
        silhouette: By number of groups.
        clarity: How clearly groups stand out, by their number.
        groups: The number that fits best; 1: no groups stand out.
        labels_N: The group of each client then.
        ari: Agreement of those groups with the planted ones; None where none are known.
        cosine_NN: Cosine of the updates of every pair.
        madc_NN: Their MADC.
        edc_NN: Their EDC.

    >>> import shoal
    >>> shoal.probe("digits", lr=0.1, clients=5, engine="serial").alike[0].parameters
    650
    """

    model: str
    parameters: int
    contrast: Mapping[str, float]
    correlation: Mapping[int, float]
    line: tuple[float, float]
    silhouette: Mapping[str, float]
    clarity: Mapping[str, float]
    groups: int
    labels_N: Array
    ari: float | None
    cosine_NN: Array
    madc_NN: Array
    edc_NN: Array


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A look at a federation: which clients pre-trained, how, and what each model shows.

    Attributes:
        data: The federation's name.
        clients: How many it has.
        cohort: Those that pre-trained.
        settings: How they did.
        m: Directions of EDC.
        alike: What each model shows.

    >>> import shoal
    >>> len(shoal.probe("digits", lr=0.1, clients=5, engine="serial").cohort)
    5
    """

    data: str
    clients: int
    cohort: Cohort
    settings: Settings
    m: int
    alike: tuple[ModelSimilarity, ...]


def probe(
    federation: str | Source | None = None,
    models: str | ModelFactory | Sequence[str] = "mclr",
    *,
    clients: int = CLIENTS,
    groups: int = GROUPS,
    **settings: Any,
) -> Probe:
    """Pre-train some clients from one random model, as FedGroup's cold start does, and compare what they learnt.

    Args:
        federation: The name of a data set, or a `Federation`; digits if left out.
        models: A name, several of them, or a function that makes an `nn.Module`.
        clients: How many pre-train.
        groups: m, the directions of EDC.
        settings: Keys of a run: data, partition, seed, data_seed, lr, batch, steps (50), engine, workers.

    Returns:
        How alike the clients are, for every model.

    >>> import shoal
    >>> [found] = shoal.probe("digits", lr=0.1, seed=1, engine="serial").alike
    >>> found.groups, found.ari, found.correlation[5] > 0.9
    (4, 1.0, True)
    """
    if isinstance(federation, str):
        settings["data"] = federation
    chosen = check_settings({"steps": STEPS, **settings})
    source = load_federation(chosen, None if isinstance(federation, str) else federation)
    if clients < 3 or groups < 1:
        raise BadInput(
            "a probe compares at least 3 clients, by at least 1 direction; choose larger clients= and groups="
        )
    if len(source.roster) < 3:
        raise BadInput(f"a probe compares at least 3 clients; the federation has {len(source.roster)}")
    several = [models] if isinstance(models, str) or not isinstance(models, Sequence) else list(models)
    layouts = [
        make_layout(chosen.model_copy(update={"model": m}), None, source)
        if isinstance(m, str)
        else make_layout(chosen, m, source)
        for m in several
    ]
    with open_backend(chosen.engine, chosen.workers, chosen.address) as backend:
        found = [
            one(layout, m, source, chosen, backend, clients, groups) for layout, m in zip(layouts, several, strict=True)
        ]
    return Probe(
        data=source.name,
        clients=len(source.roster),
        cohort=found[0][0],
        settings=chosen,
        m=groups,
        alike=tuple(one for _, one in found),
    )


def one(
    layout: Layout, model: str | ModelFactory, source: Source, settings: Settings, backend: Any, clients: int, m: int
) -> tuple[Cohort, ModelSimilarity]:
    """What one model shows; draws are those of FedGroup's cold start under the same seed."""
    arithmetic = Arithmetic(settings.device, choose_kernel(settings.kernel, settings.device, layout))
    engine, key = Engine(backend, layout, arithmetic=arithmetic), Key(settings.seed).at(0)
    engine.set_federation(source)
    sampled = Random(min(clients, len(source.roster)))(engine.clients, key("cold start"))
    w0_P = layout.init(key("init"))
    got = engine.map(
        Train(settings.solver()), sampled, w0_P[None], np.zeros(len(sampled), int), key("pretrain"), min_answers=3
    )
    truth = None if source.truth is None else dict(zip(source.ids, source.truth, strict=True))
    planted_N = None if truth is None else np.array([truth[c] for c in got.cohort])
    name = model if isinstance(model, str) else getattr(model, "__name__", "own model")
    count = layout.trainable.stop - layout.trainable.start
    return got.cohort, compare(name, count, got["update"][:, layout.trainable], m, key, planted_N)


def compare(
    name: str, count: int, updates_NP: Array, m: int, key: Key, planted_N: Array | None = None
) -> ModelSimilarity:
    """All measures on the same updates."""
    rows_NP = coordinates(updates_NP)
    cosine_NN, l2_NN, edc_NN = cosine(rows_NP), pairwise(rows_NP), edc(rows_NP, m)
    madc_NN = madc(cosine_NN)
    pairs = np.triu_indices(len(rows_NP), 1)
    directions = sorted({m, *(d for d in DIRECTIONS if d <= len(rows_NP))})
    by_m = {d: pearson(madc_NN[pairs], edc(rows_NP, d)[pairs]) for d in directions}
    distances = {"l2": l2_NN, "cosine": 1 - cosine_NN, "madc": madc_NN, "edc": edc_NN}
    k, values = number_of_groups(rows_NP, "auto", lambda rows, k, rng: group_labels(rows, k, rng=rng), key("how many"))
    labels_N = group_labels(rows_NP, k, rng=key("cluster").rng())
    return ModelSimilarity(
        model=name,
        parameters=count,
        contrast={measure: relative_contrast(d) for measure, d in distances.items()},
        correlation=by_m,
        line=fitted(madc_NN[pairs], edc_NN[pairs]),
        silhouette=values["silhouette"],
        clarity=values["clarity"],
        groups=k,
        labels_N=labels_N,
        ari=None if planted_N is None else adjusted_rand(planted_N, labels_N),
        cosine_NN=cosine_NN,
        madc_NN=madc_NN,
        edc_NN=edc_NN,
    )


def pearson(x: Array, y: Array) -> float:
    """Correlation of two lists of numbers; nan where one of them does not vary.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    a, b = x - x.mean(), y - y.mean()
    return float((a @ b) / np.sqrt((a @ a) * (b @ b)))


def fitted(x: Array, y: Array) -> tuple[float, float]:
    """Slope and intercept of the least-squares line; a flat one where x does not vary.

    >>> fitted(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (2.0, 1.0)
    """
    a = x - x.mean()
    slope = float(a @ (y - y.mean()) / (a @ a)) if np.ptp(x) else 0.0
    return slope, float(y.mean() - slope * x.mean())


def by_group(labels_N: Array) -> Array:
    """Places of the clients, group by group: the order in which similarities show blocks.

    >>> by_group(np.array([1, 0, 1, 0])).tolist()
    [1, 3, 0, 2]
    """
    return np.argsort(labels_N, kind="stable")
