"""What `auto` decides: from the evidence of short trials to one method, in five sentences. Nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import BadInput, listing
from shoal.experiment.evidence import Evidence, Trial, lead, near, tied

__all__ = ["Decision", "decide"]

ONE, OWN = "fedavg", "local"  # one model for all, and a model for each


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


def decide(evidence: Evidence) -> Decision:
    """The method that served clients best in the trials; of those that did equally well the simplest.

    Equal are two whose scores differ by no more than a point (of scores that are no shares, a hundredth), or by no more
    than the standard error over clients.

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
    best = max(able, key=lambda t: t.score.sign * t.value)
    chosen = next(t for t in able if tied(best, t))
    one = next((t for t in able if t.algorithm == ONE), None)
    alike = one is not None and tied(best, one)
    notes = (
        note("federation", federation_says(evidence), clients=evidence.clients, samples=evidence.samples)
        | {"asked": evidence.asked, "drift": evidence.drift},
        note("groups", groups_says(evidence), groups=evidence.groups)
        | {"silhouette": {str(k): v for k, v in evidence.silhouette.items()}},
        note("difference", difference_says(evidence, able, alike))
        | (dict(zip(("distance", "chance"), evidence.labels, strict=True)) if evidence.labels else {}),
        note("contest", contest_says(evidence, able), rounds=evidence.rounds)
        | {best.score.name: {t.name: t.value for t in able}}
        | {"left_out": {t.name: t.problem for t in evidence.trials if t.problem}},
        note("choice", choice_says(evidence, able, best, chosen), algorithm=chosen.algorithm, own=dict(chosen.own))
        | {"behind": lead(best, chosen)[0], "standard_error": lead(best, chosen)[1]},
    )
    return Decision(chosen.algorithm, chosen.own, notes)


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
    how = "different" if e.skewed else "the same"
    head = "Clients have numbers as targets, so that no shares of classes can be compared"
    if e.labels is not None:
        far, chance = e.labels
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
    score = able[0].score
    first, *others = (score.show(t.value) for t in able)
    had = f"got {first} right" if able[0].metric is None else f"had {score.title} {first}"
    scores = listing([f"{able[0].name} {had}", *(f"{t.name} {x}" for t, x in zip(able[1:], others, strict=True))])
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
        equal = f"within a standard error, {far(best, error, '')}" if ahead > near(best) else within(best)
        why = f"{best.name} was {far(best, ahead)} ahead, which is {equal}, and of equals the simpler is taken"
    else:
        rest = [t for t in able if t is not chosen]
        second = max(rest, key=lambda t: t.score.sign * t.value) if rest else None
        margin = lead(chosen, second)[0] if second else 0.0
        why = f"{far(chosen, margin)} ahead of {second.name}" if second else "nothing else could be tried"
    words = next_words(e, able, chosen)
    return f"So {chosen.name} is run ({why}): {MEANING[kind(chosen)]}; to see more, write {words} in place of auto."


def far(trial: Trial, ahead: float, unit: str = " points") -> str:
    """A difference of scores in words: points of per cent, or as it is."""
    return f"{100 * ahead:.1f}{unit}" if trial.score.percent else f"{ahead:.3g}"


def within(best: Trial) -> str:
    return "within one point" if best.score.percent else "within a hundredth"


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
