"""The task of a run: its loss, what its targets are, what a model says of them, and which figure of it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from shoal.errors import BadInput, ShoalError
from shoal.metrics import BASE, METRICS, Metric, sums_of
from shoal.objectives.losses import LOSS, SAID, Loss, Targets
from shoal.records import IGNORED
from shoal.scores import Score
from shoal.types import Array

__all__ = ["Judged", "Objective", "Sum"]


class Sum(NamedTuple):
    """A sum that a test adds up beside its counts.

    Attributes:
        name: Its field in answers.
        shape: Of the array.
        guarded: Whether it leaves a real site only where the site's policy names it.

    >>> Sum("squared_error", (1,), False).shape
    (1,)
    """

    name: str
    shape: tuple[int, ...]
    guarded: bool


class Judged(NamedTuple):
    """Tested samples, or of sequences the tokens that count.

    Attributes:
        said: What was said of each.
        targets: What is true of each.
        owner: Whose each is.
        loss_N: The sum of the losses of every client's.

    >>> Objective(targets="floats").judge(np.array([[1.0], [2.0]]), np.array([1.0, 4.0]), np.zeros(2, int), 1).loss_N
    array([4.])
    """

    said: Array
    targets: Array
    owner: Array
    loss_N: Array


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What a run learns and how it is judged: "the task of a run".

    Targets are of four kinds: `classes`, a whole number each; `labels`, 0 or 1 for each of several; `tokens`, a class
    for every place of a sequence, or -100 where none counts; `floats`, a number or an array of them.

    Args:
        loss: From outputs and targets to a loss per sample, or their mean; None: cross entropy, of floats the squared
            error. Of tokens it is given only those that count, M x C outputs and M targets.
        targets: Of what kind they are.
        said: What a model says of samples by its outputs, which metrics are given and `run.predict` shows; None:
            log-probabilities of classes and tokens, probabilities of labels, the outputs themselves of floats.
        metrics: What is measured beside the loss and, of classes and tokens, accuracy: names, or `Metric`s.
        score: Name of the metric that is the headline figure; None: the first of them, or the loss.
        name: How a run is asked for it, `task=NAME`.
        weights: Of every class in the loss, of labels of those that are 1; `class_weights=` of a run sets them.

    >>> absolute = Objective(loss=lambda out, y: (out[:, 0] - y).abs(), metrics=("mae",))
    >>> absolute.headline.name, absolute.headline.better
    ('mae', 'lower')
    """

    loss: Loss | None = None
    targets: Targets = "floats"
    said: Callable[[torch.Tensor], torch.Tensor] | None = None
    metrics: tuple[str | Metric, ...] = ()
    score: str | None = None
    name: str = "own"
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.targets not in LOSS:
            raise BadInput(f"targets={self.targets!r} is not possible: they are {', '.join(LOSS)}")
        if self.weights is not None and (self.loss is not None or self.targets == "floats"):
            raise BadInput("class weights go with the cross entropy of classes; put them into the loss of your own")

    @property
    def decides(self) -> bool:
        """Whether one of several classes is right, so that right answers can be counted."""
        return self.targets in ("classes", "tokens")

    @property
    def plain(self) -> bool:
        """Whether it is cross entropy of classes without weights, which the native kernel trains."""
        return self.targets == "classes" and self.loss is None and self.weights is None

    @property
    def by_probabilities(self) -> bool:
        """Whether log-probabilities tell all there is to test, so that nothing else needs to be kept of outputs."""
        return self.targets == "classes" and self.loss is None and self.said is None

    @property
    def measured(self) -> tuple[Metric, ...]:
        """The metrics, each once; what every test counts anyway is not among them."""
        found = {m.name: m for m in (METRICS.find(m) if isinstance(m, str) else m for m in self.metrics)}
        return tuple(m for name, m in found.items() if name not in self.counted)

    @property
    def adding(self) -> tuple[Metric, ...]:
        """Of metrics that share their sums, one."""
        return tuple({m.sums: m for m in self.measured}.values())

    @property
    def counted(self) -> tuple[str, ...]:
        """Names of the metrics that need no sums of their own."""
        return ("test_loss", "accuracy") if self.decides else ("test_loss",)

    @property
    def reported(self) -> tuple[Metric, ...]:
        """The metrics that a record names; accuracy and F1 of classes it names by itself."""
        alone = self.decides and self.headline.name == "accuracy"
        found = {m.name: m for m in (*self.measured, *(() if alone else (self.headline_metric,)))}
        return tuple(found.values())

    @property
    def headline(self) -> Score:
        """The score of the run."""
        return self.headline_metric.score

    @property
    def headline_metric(self) -> Metric:
        """The metric that is the score."""
        own = {m.name: m for m in self.measured}
        first = next(iter(self.metrics), "test_loss")
        name = self.score or (first if isinstance(first, str) else first.name)
        return own[name] if name in own else METRICS.find(name)

    def with_metrics(self, metrics: Sequence[str | Metric], score: str | None) -> Objective:
        """The same with more metrics, and with another headline figure.

        Args:
            metrics: Names, or objects.
            score: The name of a metric; None: as it is.

        Returns:
            The task; a metric that it cannot have is one sentence.

        >>> Objective(targets="classes").with_metrics(["auc"], "ece").headline.name
        'calibration_error'
        """
        everything = (*self.metrics, *metrics)
        own = {m.name for m in everything if isinstance(m, Metric)}
        hidden = [
            m.name for m in everything if isinstance(m, Metric) and m.name in self.counted and m != METRICS[m.name]
        ]
        if hidden:
            raise BadInput(
                f"a metric of your own cannot be called {hidden[0]!r}, as every test measures one; rename it"
            )
        name = self.headline.name if score is None else score if score in own else METRICS.find(score).name
        known = replace(self, metrics=everything if name in own else (*everything, name), score=name)
        for metric in (*known.measured, known.headline_metric):
            if metric.kinds and self.targets not in metric.kinds:
                raise BadInput(
                    f"the metric {metric.name} is for {' and '.join(metric.kinds)}; task={self.name} has {self.targets}"
                )
        return known

    def sums(self, outputs: tuple[int, ...]) -> tuple[Sum, ...]:
        """What a test adds up for the metrics, found by adding up nothing.

        Args:
            outputs: The shape of a model's outputs of one sample.

        Returns:
            A record per sum.

        >>> Objective(targets="floats", metrics=("rmse",)).sums((1,))[0]
        Sum(name='squared_error', shape=(1,), guarded=False)
        """
        said = self.says(torch.zeros(0, *(outputs[-1:] if self.targets == "tokens" else outputs))).numpy()
        targets = np.zeros(0, np.int64) if self.decides else np.zeros(said.shape)
        owners: dict[str, Metric] = {}
        found: dict[str, Sum] = {}
        for metric in self.measured:
            for name, zeros in sums_of(metric, said, targets).items():
                other = owners.setdefault(name, metric)
                if name in BASE or other.sums is not metric.sums:
                    raise BadInput(f"the metric {metric.name!r} calls a sum {name!r} as another does; rename it")
                if zeros.any():
                    raise BadInput(f"the metric {metric.name!r} adds up {name!r} to {zeros} over no samples, not to 0")
                found[name] = Sum(name, zeros.shape, metric.guarded)
        return tuple(found.values())

    def units(self, targets: Array) -> int:
        """What a mean loss is over: how many samples, or of sequences tokens that count.

        >>> Objective(targets="tokens").units(np.array([[3, -100], [1, 2]])), Objective(targets="classes").units([3, 1])
        (3, 2)
        """
        return int((targets != IGNORED).sum()) if self.targets == "tokens" else len(targets)

    def mean_loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean loss of a batch, to be followed downhill."""
        outputs, targets, _ = self._units(outputs, targets)
        return self._losses(outputs, targets).mean() if len(targets) else outputs.sum() * 0

    def judge(self, rows: Array, targets_B: Array, owner_B: Array, n: int) -> Judged:
        """Tested samples of n clients as metrics see them.

        Args:
            rows: Outputs of a model, or log-probabilities where these tell all.
            targets_B: What is true.
            owner_B: Whose each sample is.
            n: How many clients there are.

        Returns:
            What is tallied.
        """
        if self.by_probabilities:
            nll_B = -rows[np.arange(len(targets_B)), targets_B].astype(np.float64)
            weights_B = 1.0 if self.weights is None else np.asarray(self.weights, np.float64)[targets_B]
            return Judged(rows, targets_B, owner_B, np.bincount(owner_B, weights_B * nll_B, minlength=n))
        outputs, targets, kept = self._units(torch.from_numpy(np.ascontiguousarray(rows)), torch.from_numpy(targets_B))
        owner_M = owner_B if kept is None else owner_B[kept.numpy()]
        said = self.says(outputs).numpy()
        truth = targets.numpy()
        if not self.decides and truth.shape != said.shape and truth.size == said.size:
            truth = truth.reshape(said.shape)
        return Judged(said, truth, owner_M, self._loss_sums(outputs, targets, owner_M, n))

    def says(self, outputs: torch.Tensor) -> torch.Tensor:
        """What a model says of samples by its outputs."""
        return (self.said or SAID[self.targets])(outputs)

    def predicted(self, said: Array) -> Array:
        """What is predicted of samples: classes, 0 or 1 for each label, values.

        >>> Objective(targets="labels").predicted(np.array([[0.9, 0.2]])).tolist()
        [[1, 0]]
        """
        if self.decides:
            return np.asarray(said.argmax(-1))
        return (said > 0.5).astype(np.int64) if self.targets == "labels" else said

    def _units(self, outputs: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """What the loss is a mean over: samples, or the tokens that count, and then which sample each is of."""
        if self.targets != "tokens":
            return outputs, targets, None
        places = min(outputs.shape[1], targets.shape[1])  # a batch of sequences is as long as its longest
        if outputs.shape[1] < targets.shape[1] and bool((targets[:, places:] != IGNORED).any()):
            raise ShoalError(f"a target counts beyond place {places}, up to which the model says something")
        outputs, targets = outputs[:, :places], targets[:, :places]
        kept = targets != IGNORED
        return outputs[kept], targets[kept], torch.nonzero(kept)[:, 0]

    def _losses(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """One loss per unit, or their mean, as the loss gives it."""
        if self.loss is not None:
            found = self.loss(outputs, targets)
            if found.numel() > max(outputs.numel(), targets.numel()):  # B x 1 outputs and B targets make B x B
                told = f"outputs of shape {tuple(outputs.shape)} and targets of shape {tuple(targets.shape)}"
                raise ShoalError(f"the loss makes shape {tuple(found.shape)} of {told}; take outputs[:, 0]")
            return found
        return LOSS[self.targets](outputs, targets, self.weights)

    def _loss_sums(self, outputs: torch.Tensor, targets: torch.Tensor, owner_M: Array, n: int) -> Array:
        """The sum of the losses of each client's samples; of a loss that gives a mean, client by client."""
        if not len(targets):
            return np.zeros(n)
        found = self._losses(outputs, targets)
        if found.dim():
            if len(found) != len(targets):
                raise ShoalError(f"the loss gives {len(found)} values for {len(targets)} samples; one each, or a mean")
            loss_M = found.reshape(len(found), -1).mean(1).numpy().astype(np.float64)
            return np.bincount(owner_M, loss_M, minlength=n)
        out_N = np.zeros(n)
        for i in np.unique(owner_M):
            mine = torch.from_numpy(np.flatnonzero(owner_M == i))
            out_N[i] = len(mine) * float(self._losses(outputs[mine], targets[mine]))
        return out_N
