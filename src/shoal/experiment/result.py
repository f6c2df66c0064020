"""A finished run as an object: groups, models, history, predictions, newcomers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from shoal.algorithms import ALGORITHMS
from shoal.backends import Serial
from shoal.data.federation import Federation
from shoal.data.samples import Inputs, Ragged
from shoal.data.signature import Signature
from shoal.data.targets import checked_targets
from shoal.engine import Engine
from shoal.errors import BadInput, ShoalError
from shoal.loop.history import History
from shoal.loop.plan import Plan
from shoal.net import Net
from shoal.seeds import Key
from shoal.setup.options import own_keys
from shoal.setup.task import check_kind
from shoal.show import counted, html_table
from shoal.table import Serving
from shoal.tasks.evaluate import poll
from shoal.tree import length
from shoal.types import Array

if TYPE_CHECKING:
    from shoal.analysis.advice import Advice


@dataclass(frozen=True)
class Assigned:
    """What a newcomer gets: the number of its group and a model.

    Attributes:
        group: The number of its group.
        model: Its model, in evaluation mode.

    >>> import shoal
    >>> run = shoal.run("fedavg", "digits", rounds=1, engine="serial")
    >>> run.assign(np.zeros((3, 1, 8, 8)), [0, 1, 2]).group
    0
    """

    group: int
    model: nn.Module


@dataclass(frozen=True, repr=False)
class Run:
    """What a run found.

    Attributes:
        plan: The algorithm, the data, the model, the rounds and the seed.
        state: The state of the algorithm after the last round.
        history: The records, one a round.
        summary: The figures of the run.
        folder: Where it was written; None: nowhere.
        config: The resolved settings, as `config.toml` has them.

    >>> import shoal
    >>> run = shoal.run("fedavg", "digits", rounds=2, engine="serial")
    >>> len(run.groups), len(run.models), run.history[-1]["round"]
    (20, 1, 2)
    >>> run.predict(run.clients[0], np.zeros((3, 1, 8, 8))).shape
    (3,)
    >>> run.advise()
    []
    """

    plan: Plan
    state: Any
    history: History
    summary: Mapping[str, Any]
    folder: Path | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        title, facts = self._facts()
        told = [f"{k} {v}" if k.startswith("best") else counted(v, k) for k, v in facts.items()]
        return f"<Run of {title}: {', '.join(told)}>"

    def _repr_html_(self) -> str:
        title, facts = self._facts()
        more = {"stopped": self.summary.get("stopped"), "folder": self.folder}
        return html_table(f"Run of {title}", [*facts.items(), *((k, v) for k, v in more.items() if v is not None)])

    def _facts(self) -> tuple[str, dict[str, str]]:
        """What was run, and what came of it."""
        score, played = self.plan.score, self.summary["rounds"]
        best, at = self.summary.get(score.key("best")), self.summary.get("best_round")
        found = {
            "clients": f"{len(self.clients):,}",
            "models": f"{self.summary.get('groups')}",
            "rounds": f"{played} of {self.plan.rounds}" if "stopped" in self.summary else f"{played}",
            f"best {score.title}": "-" if best is None else f"{score.show(best)} in round {at}",
        }
        name = self._name or type(self.plan.algorithm).__name__
        return f"{name} on {self.plan.federation.name}", found

    @property
    def _name(self) -> str:
        """Of the algorithm, if it has one: the one it was run by, else one of its class."""
        given = str(self.config.get("algorithm", ""))
        names = [name for name, cls in ALGORITHMS.items() if type(self.plan.algorithm) is cls]
        return given if given in names else next(iter(names), "")

    @property
    def clients(self) -> tuple[str, ...]:
        return self.plan.federation.ids

    @property
    def decision(self) -> tuple[str, ...]:
        """The sentences in which `auto` says what it found and why it chose this algorithm; empty without `auto`."""
        return tuple(note["says"] for note in self.plan.notes if note["kind"] == "decision")

    @cached_property
    def signature(self) -> Signature:
        """What the models take and say: shape, classes and their names, the preprocessing of a table."""
        return Signature.of(self.plan.federation)

    @cached_property
    def serving(self) -> Serving:
        return self.plan.algorithm.serve(self.state)

    @cached_property
    def groups(self) -> Mapping[str, int]:
        """Client id to the number of its group, for the clients that have a model."""
        return self.serving.groups(self.clients)

    @cached_property
    def models(self) -> list[nn.Module]:
        """The models, one per group, in evaluation mode."""
        return [self.plan.layout.module(model_P) for model_P in self.serving.models_KP]

    def predict(self, client: str, x: Any) -> Array:
        """What the client's model predicts of inputs given as the federation stores them.

        Args:
            client: One of `clients`.
            x: Samples (B, ...), in the dtype that the federation stores, or floats ready for the model; several arrays
                or sequences as the federation has them; of a table, also rows as they are: a data frame, a mapping of
                columns, a list of mappings.

        Returns:
            B classes, or whatever the targets of the run are.
        """
        return self.plan.layout.objective.predicted(self._said(client, x))

    def predict_proba(self, client: str, x: Any) -> Array:
        """The probability that the client's model gives every class.

        Args:
            client: One of `clients`.
            x: Samples, as for `predict`.

        Returns:
            B x C probabilities; `signature.class_names` says what the classes are called.
        """
        task, said = self.plan.layout.objective, self._said(client, x).astype(np.float64)
        if task.targets == "floats":
            raise BadInput(f"task={task.name} predicts numbers, not probabilities; use run.predict")
        return np.asarray(np.exp(said) if task.decides else said)

    def _said(self, client: str, x: Any) -> Array:
        """What the client's model, or all that vote, say: log-probabilities of classes, of others by the task."""
        if client not in self.clients:
            raise BadInput(f"the federation has no client {client!r}; run.clients lists them")
        inputs, net, said = self.signature.given(x, client), Net(self.plan.layout), []
        for model_P in self.serving.models_for(client, self.plan.layout):
            net.load(model_P)
            said.append(net.rows(inputs))
        if not said:
            raise ShoalError(f"client {client!r} has no model yet: it was never selected; play more rounds")
        return net.said(poll(said, self.plan.layout.objective))

    def advise(self) -> list[Advice]:
        """What the records say that one would miss, as `shoal advise` does; an empty list if nothing stands out."""
        from shoal.analysis.advice import advise

        name = self._name
        keys = own_keys(name) if name else {}
        return advise(name, {k: getattr(self.plan.algorithm, f.name) for k, f in keys.items()}, self.history)

    def assign(self, x: Any, y: Any) -> Assigned:
        """The group and model of a client that was never seen, by the algorithm's own rule, from its samples.

        Args:
            x: Its samples, as for `predict`.
            y: Their targets, of the kind that the run learned.

        Returns:
            The number of its group and a model.
        """
        inputs = self.signature.given(x)
        task, classes, labels = self.plan.layout.objective, self.plan.federation.classes, np.asarray(y)
        if task.targets == "classes" and not np.issubdtype(labels.dtype, np.integer):
            raise BadInput(f"labels must be whole numbers, not {labels.dtype}")
        if length(inputs) != len(labels) or not len(labels):
            raise BadInput(
                f"a newcomer needs as many labels as samples, at least one; got {length(inputs)} and {len(labels)}"
            )
        labels = checked_targets("newcomer", labels)
        check_kind(task, "the newcomer", labels)
        if task.decides and labels.max() >= classes:
            raise BadInput(f"labels must lie between 0 and {classes - 1}")
        if not task.decides and prod(labels.shape[1:]) != classes:
            raise BadInput(f"targets have {prod(labels.shape[1:])} numbers each, those of the run have {classes}")
        all_, none = Ragged.of([np.arange(len(labels))]), Ragged.of([np.zeros(0, int)])
        alone = Federation("newcomer", ("newcomer",), inputs, labels, all_, none, classes, inputs=Inputs())
        engine = Engine(Serial(), self.plan.layout, arithmetic=self.plan.arithmetic)
        engine.set_federation(alone)
        key = Key(self.plan.seed).at(self.plan.rounds)("assign")
        got = self.plan.algorithm.assign(self.state, alone.ids, engine, key)
        if not len(got):
            raise ShoalError(f"the newcomer could not be assigned: {got.failed[0].reason}")
        k = int(got.which_N[0])
        model_P = got["model"][0] if "model" in got.fields else self.serving.models_KP[k]
        return Assigned(k, self.plan.layout.module(model_P))

    def report(self, out: str | Path | None = None) -> Path:
        """Write a page that shows the run, by default `report.html` in its folder; the path of the page.

        Args:
            out: The file to write; None: `report.html` in the run's folder.

        Returns:
            The path of the page.
        """
        if self.folder is None:
            raise ShoalError("run.report() shows what is in a run's folder; give shoal.run(...) one with out=DIR")
        from shoal.report import report

        return report([self.folder], out)

    def export(self, folder: str | Path, onnx: bool = False) -> Path:
        """Write the models for use elsewhere: a file per group that `shoal.load_model` reads, and a card about them.

        Args:
            folder: Where to; it is made, and files of the same names are replaced.
            onnx: Whether to write each model for ONNX runtimes, too; needs the extra `onnx`.

        Returns:
            The folder.
        """
        from shoal.experiment.export import export

        return export(self, folder, onnx)


__all__ = ["Assigned", "Run"]
