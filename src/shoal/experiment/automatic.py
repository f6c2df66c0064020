"""What `auto` decides: from the evidence of short trials to one method, in five sentences. Nothing is run here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import BadInput, listing
from shoal.types import Array

__all__ = ["Decision", "Evidence", "Trial", "decide", "label_distance", "lead"]

TIE = 0.01  # accuracies that differ by less are equal
SKEWED = 2.0  # times the distance that chance alone gives: from there on labels differ
ONE, OWN = "fedavg", "local"  # one model for all, and a model for each


@dataclass(frozen=True)
class Trial:
    """A short run of one candidate, validated on samples that nobody trained on.

    Attributes:
        algorithm: Its name.
        own: Its own keys.
        right_N: Validation samples that each client's model got right.
        total_N: How many validation samples each client has.
        problem: Why it cannot be chosen; empty: it can.

    >>> Trial("wecfl", {"groups": 4}, (9, 7), (10, 10)).accuracy
    0.8
    """

    algorithm: str
    own: Mapping[str, Any] = field(default_factory=dict)
    right_N: Sequence[int] = ()
    total_N: Sequence[int] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        return " ".join([self.algorithm, *(f"{k}={v}" for k, v in self.own.items() if k == "groups")])

    @property
    def accuracy(self) -> float:
        return sum(self.right_N) / max(sum(self.total_N), 1)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that a decision rests on.

    Attributes:
        clients: How many there are.
        samples: Training samples of all of them.
        asked: Clients that take part in a round.
        drift: What happens to the data, as it is written; empty: nothing.
        groups: How many groups the directions show in which clients learn; 1: none; 0: they were not looked for.
        silhouette: How clear each number of groups is, from -1 to 1.
        labels: How far the clients' shares of classes lie from the whole's, and what chance alone would give.
        rounds: Of each trial.
        trials: The candidates, the simplest first.

    >>> Evidence(clients=2, samples=20, asked=2, groups=1, labels=(0.1, 0.1), rounds=5, trials=()).drift
    ''
    """

    clients: int
    samples: int
    asked: int
    drift: str = ""
    groups: int
    silhouette: Mapping[int, float] = field(default_factory=dict)
    labels: tuple[float, float]
    rounds: int
    trials: Sequence[Trial]

    @property
    def skewed(self) -> bool:
        """Whether clients hold different classes."""
        return self.labels[0] > SKEWED * self.labels[1]


@dataclass(frozen=True)
class Decision:
    """The method to run, and why.

    Attributes:
        algorithm: Its name.
        own: Its own keys.
        notes: One event per sentence: what it is about, what it says, and the figures behind it.

    >>> Decision("fedavg", {}, ({"kind": "decision", "about": "choice", "says": "So."},)).sentences
    ('So.',)
    """

    algorithm: str
    own: Mapping[str, Any]
    notes: tuple[Mapping[str, Any], ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(note["says"] for note in self.notes)


def label_distance(counts_NC: Array) -> tuple[float, float]:
    """How far the clients' shares of classes lie from the whole's: total variation, mean over clients; and by chance.

    A client whose n labels are drawn from the whole's shares p lies `sum_c sqrt(2 p_c (1 - p_c) / (pi n)) / 2` from
    them, for n that are not small.

    Args:
        counts_NC: Samples of each client in each class.

    Returns:
        The distance, and what chance alone would give.

    >>> distance, chance = label_distance(np.array([[50, 0], [0, 50]]))
    >>> distance, round(chance, 4)
    (0.5, 0.0564)
    """
    counts_NC = counts_NC[counts_NC.sum(1) > 0]
    if not len(counts_NC):
        return 0.0, 0.0
    p_C, n_N = counts_NC.sum(0) / counts_NC.sum(), counts_NC.sum(1)
    apart_N = np.abs(counts_NC / n_N[:, None] - p_C).sum(1) / 2
    chance_N = np.sqrt(2 * p_C * (1 - p_C) / (math.pi * n_N[:, None])).sum(1) / 2
    return float(apart_N.mean()), float(chance_N.mean())


def lead(one: Trial, other: Trial) -> tuple[float, float]:
    """How much more accurate a trial was than another on the same samples, and the standard error over clients.

    With d_i more right answers of n_i at client i and the difference D of the accuracies, the error is
    `sqrt(N / (N - 1) sum_i (d_i - n_i D)^2) / sum_i n_i`.

    Args:
        one: A trial.
        other: Another on the same federation.

    Returns:
        The difference of the accuracies, and its standard error (0 for one client).

    >>> lead(Trial("wecfl", {}, (9, 7), (10, 10)), Trial("fedavg", {}, (8, 4), (10, 10)))
    (0.2, 0.1)
    """
    d_N, n_N = np.subtract(one.right_N, other.right_N), np.asarray(one.total_N)
    N, D = len(n_N), float(d_N.sum() / n_N.sum())
    spread = float(np.square(d_N - n_N * D).sum())
    return D, math.sqrt(N / (N - 1) * spread) / float(n_N.sum()) if N > 1 else 0.0


def decide(evidence: Evidence) -> Decision:
    """The method that served clients best in the trials; of those that did equally well the simplest.

    Equal are two whose accuracies differ by no more than a point, or by no more than the standard error over clients.

    Args:
        evidence: What the trials showed.

    Returns:
        The method and five sentences: the federation, its groups, how clients differ, the contest, the choice.

    >>> trials = [Trial("fedavg", {}, (4, 5), (10, 10)), Trial("local", {}, (9, 9), (10, 10))]
    >>> found = decide(
    ...     Evidence(clients=2, samples=80, asked=2, groups=1, labels=(0.1, 0.1), rounds=9, trials=trials)
    ... )
    >>> found.algorithm, len(found.sentences)
    ('local', 5)
    """
    able = [t for t in evidence.trials if not t.problem]
    if not able:
        raise BadInput(f"auto has nothing to choose from: {evidence.trials[0].problem}")
    best = max(able, key=lambda t: t.accuracy)
    chosen = next(t for t in able if tied(best, t))
    one = next((t for t in able if t.algorithm == ONE), None)
    alike = one is not None and tied(best, one)
    notes = (
        note("federation", federation_says(evidence), clients=evidence.clients, samples=evidence.samples)
        | {"asked": evidence.asked, "drift": evidence.drift},
        note("groups", groups_says(evidence), groups=evidence.groups)
        | {"silhouette": {str(k): v for k, v in evidence.silhouette.items()}},
        note(
            "difference", difference_says(evidence, able, alike), distance=evidence.labels[0], chance=evidence.labels[1]
        ),
        note("contest", contest_says(evidence, able), rounds=evidence.rounds)
        | {"accuracy": {t.name: t.accuracy for t in able}}
        | {"left_out": {t.name: t.problem for t in evidence.trials if t.problem}},
        note("choice", choice_says(evidence, able, best, chosen), algorithm=chosen.algorithm, own=dict(chosen.own))
        | {"behind": lead(best, chosen)[0], "standard_error": lead(best, chosen)[1]},
    )
    return Decision(chosen.algorithm, chosen.own, notes)


def tied(best: Trial, other: Trial) -> bool:
    """Whether the best is not really better than another.

    >>> tied(Trial("local", {}, (90,), (100,)), Trial("fedavg", {}, (89,), (100,)))
    True
    """
    behind, error = lead(best, other)
    return behind <= max(TIE, error) + 1e-12


def note(about: str, says: str, **figures: Any) -> dict[str, Any]:
    return {"kind": "decision", "about": about, "says": says, **figures}


def federation_says(e: Evidence) -> str:
    who = "all take part in every round" if e.asked == e.clients else f"{e.asked:,} of them take part in a round"
    if e.clients == 1:
        return f"The federation is a single client with {e.samples:,} training samples{drift_says(e)}."
    return f"The federation has {e.clients:,} clients with {e.samples:,} training samples; {who}{drift_says(e)}."


def drift_says(e: Evidence) -> str:
    return f", and data drift ({e.drift})" if e.drift else ", and nothing drifts"


def groups_says(e: Evidence) -> str:
    """Whether clients learn alike, and how clearly."""
    known = sorted(e.silhouette.items(), key=lambda item: -item[1])
    if e.groups == 0:
        why = "that takes three clients" if e.clients < 3 else "the trial that does so was not possible"
        return f"Groups of clients that learn alike were not looked for: {why}."
    if e.groups == 1:
        most = f": the clearest would be {known[0][0]}, with a silhouette of {known[0][1]:.2f}" if known else ""
        return f"The directions in which clients learn show no groups{most}."
    own = f" with a silhouette of {e.silhouette[e.groups]:.2f} of 1" if e.groups in e.silhouette else ""
    others = [f"the next best, {k}, has {value:.2f}" for k, value in known if k != e.groups][:1]
    clear = f" ({others[0]})" if own and others else ""
    return f"The directions in which clients learn show {e.groups} groups{own}{clear}."


def difference_says(e: Evidence, able: Sequence[Trial], alike: bool) -> str:
    """What kind of difference: of labels, or of what inputs look like and mean."""
    if e.clients == 1:
        return "There is nobody to differ from."
    far, chance = e.labels
    how = "different" if e.skewed else "the same"
    head = f"Clients hold {how} classes (label shares {far:.2f} from the whole's, {chance:.2f} by chance alone)"
    if not any(t.algorithm == ONE for t in able):
        return f"{head}; one model for all could not be tried."
    if len(able) == 1:
        return f"{head}, and nothing but one model for all could be tried."
    if alike:
        return f"{head}, and in the trials one model served them as well as any other."
    if e.skewed:
        return f"{head}, and in the trials one model for all served them less well on the classes they hold."
    return (
        f"{head}, yet in the trials one model for all served them less well: "
        "their inputs look different or mean different things, or one model needs more rounds."
    )


def contest_says(e: Evidence, able: Sequence[Trial]) -> str:
    first, *others = (f"{100 * t.accuracy:.1f} %" for t in able)
    scores = listing(
        [f"{able[0].name} got {first} right", *(f"{t.name} {x}" for t, x in zip(able[1:], others, strict=True))]
    )
    out = "".join(f"; {t.name} was left out because {t.problem}" for t in e.trials if t.problem)
    rounds, samples = counted(e.rounds, "round"), counted(sum(able[0].total_N), "training sample")
    return f"After {rounds} each, of {samples} set aside, {scores}{out}."


def counted(n: int, what: str) -> str:
    """
    >>> counted(1, "round"), counted(2000, "round")
    ('1 round', '2,000 rounds')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def choice_says(e: Evidence, able: Sequence[Trial], best: Trial, chosen: Trial) -> str:
    """What is run and why, and what to try next."""
    ahead, error = lead(best, chosen)
    if best is not chosen and ahead > 0:
        equal = f"within a standard error, {100 * error:.1f}" if ahead > TIE else "within one point"
        why = f"{best.name} was {100 * ahead:.1f} points ahead, which is {equal}, and of equals the simpler is taken"
    else:
        rest = [t for t in able if t is not chosen]
        second = max(rest, key=lambda t: t.accuracy) if rest else None
        margin = lead(chosen, second)[0] if second else 0.0
        why = f"{100 * margin:.1f} points ahead of {second.name}" if second else "nothing else could be tried"
    words = next_words(e, able, chosen)
    return f"So {chosen.name} is run ({why}): {MEANING[kind(chosen)]}; to see more, write {words} in place of auto."


def kind(trial: Trial) -> str:
    return trial.algorithm if trial.algorithm in MEANING else "groups"


MEANING = {
    ONE: "one model for all, which newcomers can use as it is",
    OWN: "every client alone, which needs no federation, and newcomers must train first",
    "ifca": "a model per group, and newcomers take the one that fits their data best",
    "groups": "a model per group, and newcomers join the group they learn like",
}


def next_words(e: Evidence, able: Sequence[Trial], chosen: Trial) -> str:
    """What to write instead of `auto` to look closer: the same contest with seeds, and groups if none were found."""
    names, groups = [t.algorithm for t in able], e.groups
    if groups == 1 and chosen.algorithm == OWN and e.clients > 2:
        names, groups = [*names, "wecfl"], min(5, e.clients)
    return " ".join([*names, *([f"groups={groups}"] if groups > 1 else []), "seed=0,1,2"])
