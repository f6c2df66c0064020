"""The headline figure of a run: which metric it is, which way is better, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["ACCURACY", "Score", "score_of"]

ACRONYMS = ("auc", "rmse", "mae", "mse", "r2", "f1", "ece")  # names that are written in capitals


@dataclass(frozen=True)
class Score:
    """One metric as the headline: records have it under `name`, summaries under `best_NAME`, `last_NAME` and so on.

    Args:
        name: Of the metric.
        better: Whether higher or lower values are better.
        percent: Whether it lies between 0 and 1 and is shown in per cent.

    >>> rmse = Score("rmse", better="lower", percent=False)
    >>> rmse.best([0.3, None, 0.2]), rmse.reaches(0.2, 0.25), rmse.key("best"), rmse.show(0.2)
    (0.2, True, 'best_rmse', '0.2')
    >>> ACCURACY.show(0.8941), ACCURACY.gain(0.9, 0.8) > 0, rmse.gain(0.9, 0.8) > 0
    ('89.4 %', True, False)
    """

    name: str = "accuracy"
    better: Literal["higher", "lower"] = "higher"
    percent: bool = True

    @property
    def title(self) -> str:
        """What it is called in sentences and on axes.

        >>> Score("rmse").title, Score("average_precision").title, Score("macro_f1").title
        ('RMSE', 'average precision', 'macro F1')
        """
        return " ".join(word.upper() if word in ACRONYMS else word for word in self.name.split("_"))

    @property
    def unit(self) -> str:
        """Its name with the unit it is shown in: `accuracy (%)`."""
        return f"{self.title} (%)" if self.percent else self.title

    @property
    def worst(self) -> str:
        """What records call `worst`: of accuracies the mean over clients, of others that of their samples pooled."""
        return f"{'mean ' if self == ACCURACY else ''}{self.title} of the worst tenth of the clients"

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 where lower is."""
        return 1 if self.better == "higher" else -1

    def key(self, prefix: str) -> str:
        """The name of a figure made of it: `best_accuracy`."""
        return f"{prefix}_{self.name}"

    def gain(self, value: float, other: float) -> float:
        """How much better one value is than another; below 0: worse."""
        return self.sign * (value - other)

    def best(self, values: Iterable[float | None]) -> float | None:
        """The best of values that are there; None if none is."""
        known = [v for v in values if v is not None]
        return max(known, key=lambda v: self.sign * v) if known else None

    def reaches(self, value: float, target: float) -> bool:
        """Whether a value is as good as a target."""
        return self.gain(value, target) >= 0

    def show(self, value: float | None) -> str:
        """A value for people."""
        if value is None:
            return "-"
        return f"{100 * value:.1f} %" if self.percent else f"{value:.4g}"

    def apart(self, value: float, other: float) -> str:
        """How far a value is from another, in words that say which is better.

        >>> ACCURACY.apart(0.9, 0.36), ACCURACY.apart(0.5, 0.61)
        ('54.0 points above', '11.0 points below')
        >>> Score("rmse", "lower", False).apart(0.5, 0.75), Score("r2", "higher", False).apart(0.5, 0.75)
        ('0.25 below', '0.25 below')
        """
        far = f"{100 * abs(value - other):.1f} points" if self.percent else f"{abs(value - other):.3g}"
        return f"{far} {'above' if value >= other else 'below'}"


ACCURACY = Score()


def score_of(config: Mapping[str, Any]) -> Score:
    """The score of a run by its resolved settings; runs that do not name one have accuracy.

    Args:
        config: What `config.toml` holds: `score`, and where it is not accuracy `score_better`, `score_percent`.

    Returns:
        The score.

    >>> score_of({}) == ACCURACY, score_of({"score": "rmse", "score_better": "lower", "score_percent": False}).better
    (True, 'lower')
    """
    name = config.get("score", ACCURACY.name)
    if name == ACCURACY.name:
        return ACCURACY
    return Score(name, config.get("score_better", "higher"), config.get("score_percent", False))
