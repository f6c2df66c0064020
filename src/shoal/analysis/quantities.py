"""The figures of a comparison, each declared once: its head, unit and meaning, which way is better, how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["FIGURES", "Quantity"]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One figure of a run. Terminal, CSV, LaTeX, JSON and HTML read all they show of it from here.

    Args:
        key: its name in JSON and CSV, and for `--figure`.
        head: of its column where room is scarce, unit included.
        title: of its column on a page, where the unit follows unless it is named.
        meaning: what it is, in a phrase.
        better: which way is better; None where neither is.
        unit: what it is shown in; `%` for shares of 1.
        digits: decimals that are shown; large numbers and counts have fewer.
        count: a whole number in every run, and shown as one where a mean is whole too.
        ranked: whether the best of its column is marked.
        shown: in every table, in those with rarer figures too, or in none (JSON and CSV have all).

    >>> FIGURES["seconds"].better, FIGURES["best_accuracy"].better, FIGURES["groups"].better
    ('lower', 'higher', None)
    """

    key: str
    head: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] | None
    unit: str = ""
    digits: int = 1
    count: bool = False
    ranked: bool = False
    shown: Literal["always", "rarely", "never"] = "always"

    @property
    def scale(self) -> float:
        """What a value is multiplied by to be shown in the unit."""
        return 100.0 if self.unit == "%" else 1.0

    @property
    def long_head(self) -> str:
        """The head of its column on a page.

        >>> [FIGURES[key].long_head for key in ("best_accuracy", "ari", "megabytes_to_target")]
        ['best (%)', 'ARI', 'MB to target']
        """
        return f"{self.title} ({self.unit})" if self.unit and self.unit not in self.title else self.title

    def rounded(self, value: float) -> float:
        """The value in its unit, as far as its shown digits tell.

        >>> FIGURES["best_accuracy"].rounded(0.93421)
        93.4
        """
        return round(self.scale * value, self._decimals(self.scale * value))

    def text(self, value: float) -> str:
        """The value in its unit, as text.

        >>> [FIGURES[key].text(3.0) for key in ("groups", "megabytes", "ari")], FIGURES["megabytes"].text(1234.5)
        (['3', '3.0', '3.00'], '1,234')
        """
        value = self.scale * value
        return f"{value:,.{self._decimals(value)}f}"

    def _decimals(self, value: float) -> int:
        if (self.digits == 1 and abs(value) >= 1000) or (self.count and value == round(value)):
            return 0
        return self.digits


def share(key: str, head: str, title: str, meaning: str, shown: Literal["always", "rarely", "never"]) -> Quantity:
    """A share of 1 that is shown in percent: more is better."""
    return Quantity(
        key=key, head=head, title=title, meaning=meaning, better="higher", unit="%", ranked=True, shown=shown
    )


def cost(key: str, head: str, title: str, unit: str, meaning: str, rare: bool = False) -> Quantity:
    """Something that is spent: less is better, but the least of it is no merit by itself."""
    shown: Literal["always", "rarely"] = "rarely" if rare else "always"
    return Quantity(key=key, head=head, title=title, meaning=meaning, better="lower", unit=unit, shown=shown)


def loss(key: str, head: str, title: str, meaning: str) -> Quantity:
    """A mean test loss: less is better."""
    return Quantity(
        key=key, head=head, title=title, meaning=meaning, better="lower", digits=3, ranked=True, shown="rarely"
    )


DECLARED = (
    share(
        "best_accuracy",
        "best %",
        "best",
        "best accuracy over all rounds in which every client had a model",
        "always",
    ),
    share(
        "accuracy_at_best_val",
        "at val %",
        "at best val.",
        "test accuracy in the round of best validation accuracy",
        "always",
    ),
    share("median_accuracy", "median %", "median", "median accuracy over the same rounds", "rarely"),
    share("last_three_accuracy", "last 3 %", "last three", "mean accuracy of the last three tested rounds", "always"),
    share(
        "last_three_f1",
        "F1 %",
        "macro F1",
        "macro F1 per client, mean over clients and the last three rounds",
        "always",
    ),
    share("last_f1", "last F1 %", "last macro F1", "macro F1 of the last round alone", "rarely"),
    share(
        "last_worst",
        "worst %",
        "worst tenth",
        "mean accuracy of the worst tenth of the clients, last round",
        "always",
    ),
    loss("best_test_loss", "best loss", "best test loss", "least mean test loss over the rounds that count, in nats"),
    loss("last_test_loss", "last loss", "last test loss", "mean test loss of the last round"),
    Quantity(
        key="ari",
        head="ARI",
        title="ARI",
        meaning="adjusted Rand index of the groups against the planted ones",
        better="higher",
        digits=2,
        ranked=True,
    ),
    Quantity(key="groups", head="models", title="models", meaning="models at the end", better=None, count=True),
    Quantity(
        key="discrepancy_mean",
        head="discr.",
        title="discrepancy",
        meaning="mean distance of clients' solutions from the model they were put into",
        better="lower",
        digits=2,
        shown="rarely",
    ),
    Quantity(
        key="discrepancy_variance",
        head="its var.",
        title="its variance",
        meaning="its variance over rounds",
        better="lower",
        digits=2,
        shown="rarely",
    ),
    Quantity(
        key="rounds_to_target",
        head="rounds to",
        title="rounds to target",
        meaning="first round that reaches the target",
        better="lower",
        count=True,
        ranked=True,
    ),
    Quantity(
        key="megabytes_to_target",
        head="MB to",
        title="MB to target",
        meaning="MB between clients and groups until then",
        better="lower",
        unit="MB",
        ranked=True,
    ),
    loss(
        "test_loss_at_target", "loss at", "test loss at target", "mean test loss of the round that reaches the target"
    ),
    cost(
        "d_comm_to_target",
        "D_comm to",
        "D_comm to target",
        "MB",
        "MB until the target by FedGSP's cost model",
        rare=True,
    ),
    cost(
        "t_comm_to_target",
        "T_comm to",
        "T_comm to target",
        "s",
        "seconds of sending until the target by that model",
        rare=True,
    ),
    cost(
        "t_comp_to_target",
        "T_comp to",
        "T_comp to target",
        "s",
        "seconds of computing until the target by that model",
        rare=True,
    ),
    cost("megabytes", "MB", "sent", "MB", "MB between clients and groups, down and up, without evaluation"),
    cost(
        "megabytes_relayed",
        "MB cloud",
        "through the cloud",
        "MB",
        "MB between groups and the cloud: models that groups exchange",
    ),
    cost(
        "d_comm",
        "D_comm MB",
        "D_comm",
        "MB",
        "MB by FedGSP's cost model: one model down and up for every client that trains",
        rare=True,
    ),
    cost(
        "t_comm",
        "T_comm s",
        "T_comm",
        "s",
        "seconds of sending by that model, at 567 Mbit/s, one client after the other",
        rare=True,
    ),
    cost(
        "t_comp",
        "T_comp s",
        "T_comp",
        "s",
        "seconds of computing by that model, at 567 GFLOP/s, groups side by side",
        rare=True,
    ),
    cost("passes", "passes", "passes", "", "samples sent through models on clients, in thousands", rare=True),
    cost("seconds", "time s", "time", "s", "time of all rounds"),
    share(
        "best_partial_accuracy",
        "some %",
        "best of some clients",
        "where no round had all clients: best accuracy of those that had a model",
        "never",
    ),
    Quantity(
        key="best_partial_clients",
        head="some",
        title="clients tested",
        meaning="how many clients had a model then",
        better="higher",
        count=True,
        shown="never",
    ),
    Quantity(
        key="best_partial_of",
        head="of",
        title="clients",
        meaning="of how many clients",
        better=None,
        count=True,
        shown="never",
    ),
)
FIGURES: Mapping[str, Quantity] = {quantity.key: quantity for quantity in DECLARED}
