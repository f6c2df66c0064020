"""The figures of a comparison, each declared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shoal.analysis.further import Further
from shoal.analysis.quantity import Quantity, Shown, cost, loss, scored, share
from shoal.scores import ACCURACY, Score

__all__ = ["FIGURES", "Quantity", "quantities"]


def of_score(score: Score) -> list[Quantity]:
    """How well a run serves its clients, by its score. Columns of accuracies are headed by their unit alone."""
    plain, title = score == ACCURACY, score.title
    unit = "%" if plain else f"{title} %" if score.percent else title
    best = f"best {title} over all rounds in which every client had a model"
    at_val = f"test {title} in the round of best validation {title}"
    worst = f"{score.worst}, last round"
    told: list[tuple[str, str, str, str, Shown]] = [
        (score.key("best"), "best", "best", best, "always"),
        (f"{score.name}_at_best_val", "at val", "at best val.", at_val, "always"),
        (score.key("median"), "median", "median", f"median {title} over the same rounds", "rarely"),
        (score.key("last_three"), "last 3", "last three", f"mean {title} of the last three tested rounds", "always"),
        ("last_worst", "worst", "worst tenth", worst, "always"),
    ]
    return [
        scored(score, key, f"{head} {unit}", long if plain else f"{title}, {long}", meaning, shown)
        for key, head, long, meaning, shown in told
    ]


def quantities(score: Score = ACCURACY, further: Sequence[Further] = ()) -> dict[str, Quantity]:
    """The figures of runs with a score, by key, in the order of columns.

    Args:
        score: their headline figure.
        further: other metrics that some of them recorded.

    Returns:
        Figures by key; `FIGURES` are those of accuracy.

    >>> list(quantities(Score("rmse", "lower", percent=False)))[:3]
    ['best_rmse', 'rmse_at_best_val', 'median_rmse']
    >>> quantities(Score("test_loss", "lower", percent=False))["best_test_loss"].shown
    'always'
    """
    *scores, worst = of_score(score)
    partial = scored(
        score,
        score.key("best_partial"),
        "some %" if score == ACCURACY else f"some {score.title}",
        "best of some clients",
        f"where no round had all clients: best {score.title} of those that had a model",
        "never",
    )
    others = [of_further(metric) for metric in further]
    mine = {quantity.key for quantity in scores}  # a test loss that is the score is not told again
    common = [quantity for quantity in COMMON if quantity.key not in mine]
    found = [*scores, *F1, worst, *others, *common, partial, *PARTIAL]
    return {quantity.key: quantity for quantity in found}


def of_further(metric: Further) -> Quantity:
    """A metric that is not the score: its value in the last tested round."""
    score = metric.score
    unit = f"{score.title} %" if score.percent else score.title
    found = scored(score, score.key("last"), unit, score.title, f"{score.title} of the last tested round", "always")
    return found if metric.ranked else replace(found, better=None, ranked=False)


F1 = (
    share(
        "last_three_f1",
        "F1 %",
        "macro F1",
        "macro F1 per client, mean over clients and the last three rounds",
        "always",
    ),
    share("last_f1", "last F1 %", "last macro F1", "macro F1 of the last round alone", "rarely"),
)
COMMON = (
    loss("best_test_loss", "best loss", "best test loss", "least mean test loss over the rounds that count"),
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
)
PARTIAL = (
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
FIGURES: Mapping[str, Quantity] = quantities()
