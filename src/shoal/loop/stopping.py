"""When a run ends before its last round: rules on its score and its time, as a user writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shoal.data.spec import parse
from shoal.errors import BadInput, unknown
from shoal.loop.row import Row
from shoal.loop.words import clock
from shoal.scores import ACCURACY, Score

__all__ = ["NEVER", "Patience", "Rule", "Seen", "Target", "TimeLimit", "parse_stop"]

NEVER = "never"  # no rule; takes one away from a run that is resumed
UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}


@dataclass
class Seen:
    """What rules see of a run: the score of the rounds that count, and how long all rounds took.

    Args:
        score: The headline figure of the run.
        validation: Whether clients have validation samples: then the score on those counts.

    >>> seen = Seen()
    >>> for row in ({"round": 1, "accuracy": 0.5, "time": {"round": 2.0}}, {"round": 2, "time": {"round": 1.0}}):
    ...     seen.add(row)
    >>> seen.rounds, seen.values, seen.seconds, seen.tested
    ([1], [0.5], 3.0, False)
    """

    score: Score = ACCURACY
    validation: bool = False
    rounds: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    seconds: float = 0.0
    tested: bool = False  # whether the last round was

    @property
    def what(self) -> str:
        return f"validation {self.score.title}" if self.validation else self.score.title

    def add(self, row: Row) -> None:
        """One more round."""
        self.seconds += row["time"]["round"]
        self.tested = self.score.name in row  # also where its samples cannot tell the score, which is null then
        value = row.get(self.score.key("val") if self.validation else self.score.name)
        if value is not None and not row.get("partial"):
            self.rounds.append(row["round"])
            self.values.append(value)


class Rule(Protocol):
    """Says why a run should end now."""

    def why(self, seen: Seen) -> str | None:
        """A sentence; None: it should go on."""

    def check(self, score: Score) -> None:
        """A sentence if the rule makes no sense for a score."""


@dataclass(frozen=True)
class Patience:
    """Stop when the score has not become better for so many rounds.

    Args:
        patience: Rounds since the best one.
        min_delta: By how much a score must be better to count as better.

    >>> seen = Seen(rounds=[1, 2, 3, 4], values=[0.5, 0.61, 0.6, 0.61], tested=True)
    >>> Patience(2).why(seen)
    'accuracy has not improved for 2 rounds; best 61.0 % in round 2'
    >>> Patience(3).why(seen)
    """

    patience: int
    min_delta: float = 0.0

    def __post_init__(self) -> None:
        if self.patience < 1:
            raise BadInput(f"patience={self.patience} is not possible: it must be at least 1")
        if not self.min_delta >= 0:
            raise BadInput(f"min_delta={self.min_delta} is not possible: it must be at least 0")

    def why(self, seen: Seen) -> str | None:
        if not seen.values:
            return None
        best, at = seen.values[0], seen.rounds[0]
        for value, t in zip(seen.values, seen.rounds, strict=True):
            if seen.score.gain(value, best) > self.min_delta:
                best, at = value, t
        since = seen.rounds[-1] - at
        if since < self.patience:
            return None
        enough, long = (
            f" by more than {self.min_delta:g}" if self.min_delta else "",
            f"{since} round{'s' * (since > 1)}",
        )
        return f"{seen.what} has not improved{enough} for {long}; best {seen.score.show(best)} in round {at}"

    def check(self, score: Score) -> None:
        """Goes with every score."""


@dataclass(frozen=True)
class Target:
    """Stop when the score is as good as a value.

    Args:
        value: Of the score, as records have it: 0.9, not 90.

    >>> Target(0.6).why(Seen(rounds=[1], values=[0.612], tested=True))
    'accuracy is 61.2 %, the target was 60.0 %'
    """

    value: float

    def why(self, seen: Seen) -> str | None:
        if not seen.values or not seen.score.reaches(seen.values[-1], self.value):
            return None
        return f"{seen.what} is {seen.score.show(seen.values[-1])}, the target was {seen.score.show(self.value)}"

    def check(self, score: Score) -> None:
        if score.percent and not 0 <= self.value <= 1:
            raise BadInput(f"stop=target:{self.value:g} is not possible: {score.name} lies between 0 and 1, as in 0.9")


@dataclass(frozen=True)
class TimeLimit:
    """Stop when all rounds together took so long, tests included; time between a cut and a resume does not count.

    Args:
        seconds: How long.

    >>> TimeLimit(90.0).why(Seen(seconds=100.4, tested=True))
    'the rounds took 1:40, the limit was 1:30'
    """

    seconds: float

    def why(self, seen: Seen) -> str | None:
        if not seen.tested or seen.seconds < self.seconds:
            return None
        return f"the rounds took {clock(seen.seconds)}, the limit was {clock(self.seconds)}"

    def check(self, score: Score) -> None:
        """Goes with every score."""


def time_limit(limit: str) -> TimeLimit:
    """A time limit as people write it.

    >>> time_limit("1h30m").seconds, time_limit("45").seconds
    (5400.0, 45.0)
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([dhms]?)", limit)
    seconds = sum(float(number) * UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != limit or not seconds > 0:
        raise BadInput(f"stop=time:{limit} is not possible: write a time such as 30m, 1h30m or 90s")
    return TimeLimit(seconds)


RULES: dict[str, Callable[..., Rule]] = {"score": Patience, "target": Target, "time": time_limit}


def parse_stop(text: str | None, score: Score = ACCURACY) -> tuple[Rule, ...]:
    """The rules of `stop=`, of which the first that applies ends a run; or one sentence.

    Args:
        text: `score:patience=20`, `score:patience=20:min_delta=0.001`, `target:0.9`, `time:30m`, or several joined by
            `+` or commas; `never` or None: no rule.
        score: Of the run.

    Returns:
        The rules.

    >>> parse_stop("score:patience=20,target:0.9+time:30m")
    (Patience(patience=20, min_delta=0.0), Target(value=0.9), TimeLimit(seconds=1800.0))
    >>> parse_stop("patience:20")
    Traceback (most recent call last):
    shoal.errors.BadInput: unknown rule of stop 'patience'; known: score, target, time.
    """
    if text is None or text.strip() == NEVER:
        return ()
    pieces: list[str] = []
    for piece in re.split(r"[+,]", text):
        if pieces and re.match(r"\s*\w+\s*=", piece):  # a comma between two arguments of one rule
            pieces[-1] += f":{piece.strip()}"
        else:
            pieces.append(piece)
    rules = []
    for spec in map(parse, pieces):
        if spec.name not in RULES:
            raise unknown("rule of stop", spec.name, RULES)
        rules.append(spec.make(RULES[spec.name], "rule of stop"))
    for rule in rules:
        rule.check(score)
    return tuple(rules)


def first_reason(rules: Sequence[Rule], seen: Seen) -> str | None:
    """Why a run should end now, by the first rule that says so."""
    return next((why for rule in rules if (why := rule.why(seen)) is not None), None)


def stopped_event(round: int, reason: str) -> dict[str, Any]:
    """What `events.jsonl` says of it."""
    return {"round": round, "kind": "stopped", "reason": reason}
