"""Statements of FedGSP on Figs. 4 and 5: how groups grow in number, and how many of them train."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.comparing import ABOVE, BELOW
from shoal.recipes.papers.fedgsp import figure4

TERMS = "a small network, 100 writers and 60 rounds"


def figures45() -> list[Relation]:
    """The statements of `growth_and_share`, with the terms on which they were run."""
    return [one if one.ours else replace(one, terms=TERMS) for one in growth_and_share()]


def growth_and_share() -> list[Relation]:
    """What Figs. 4 and 5 show of growth functions and of the share of groups that train."""
    loss: dict[str, Any] = {"quantity": "best_test_loss", "scale": 1}
    tried: dict[str, tuple[str, ...]] = {}
    for cell in figure4():
        tried[cell.row] = (*tried.get(cell.row, ()), cell.name)
    return [
        Relation(
            "fedgsp/log-best",
            "the least loss of all growth functions is that of the logarithm",
            "section 4.2, Fig. 4",
            tried["log"],
            (*tried["linear"], *tried["exp"]),
            over="least",
            **BELOW,
            **loss,
            cause="the setting",
            why="Rounds are 60 and writers 100, in place of 500 and 368, so that slow growth of any kind does "
            "well; the best of the three functions are within 0.04 of each other, in one seed.",
        ),
        Relation(
            "fedgsp/lines",
            "lines with beta = 3 or 10 have a higher loss than the logarithm with the same coefficients, on average",
            "ours",
            tuple(name for name in tried["linear"] if not name.endswith("beta-1")),
            tuple(name for name in tried["log"] if not name.endswith("beta-1")),
            **ABOVE,
            **loss,
            ours=True,
        ),
        Relation(
            "fedgsp/too-slow",
            "too slow growth has a higher loss (log, alpha 1, beta 1 against alpha 2, beta 3)",
            "section 4.2, Fig. 4",
            ("fedgsp/fig4/log/alpha-1-beta-1",),
            ("fedgsp/fig4/log/alpha-2-beta-3",),
            **ABOVE,
            **loss,
        ),
        Relation(
            "fedgsp/kappa-comp",
            "kappa has a negligible effect on T_comp: all groups cost within a tenth of what a tenth of them does",
            "section 4.2, Fig. 5b",
            ("fedgsp/fig5/writers-100/kappa-1.0",),
            ("fedgsp/fig5/writers-100/kappa-0.1",),
            quantity="t_comp",
            scale=1,
            ratio=True,
            least=0.9,
            most=1.1,
        ),
        Relation(
            "fedgsp/kappa",
            "a tenth of the groups is as good as all of them, within 2 points",
            "Fig. 5a",
            ("fedgsp/fig5/writers-100/kappa-0.1",),
            ("fedgsp/fig5/writers-100/kappa-1.0",),
            least=-2,
            most=2,
            cause="the setting",
            why="With 100 writers a tenth of the groups is one to three, so that hardly anything is averaged in a "
            "round; with the paper's 368 it is one to nine.",
            tells=("fedgsp/kappa-368",),
        ),
        Relation(
            "fedgsp/kappa-368",
            "with 368 writers a tenth of the groups is as good as all of them, within 2 points",
            "ours",
            ("fedgsp/fig5/writers-368/kappa-0.1",),
            ("fedgsp/fig5/writers-368/kappa-1.0",),
            least=-2,
            most=2,
            ours=True,
        ),
        Relation(
            "fedgsp/kappa-comm",
            "T_comm is proportional to kappa",
            "Fig. 5c",
            ("fedgsp/fig5/writers-100/kappa-1.0",),
            ("fedgsp/fig5/writers-100/kappa-0.5",),
            quantity="t_comm",
            scale=1,
            ratio=True,
            least=1.8,
            most=2.2,
        ),
        Relation(
            "fedgsp/too-fast",
            "too fast growth has a higher loss (log, alpha 4, beta 10 against alpha 2, beta 3)",
            "Fig. 4",
            ("fedgsp/fig4/log/alpha-4-beta-10",),
            ("fedgsp/fig4/log/alpha-2-beta-3",),
            **ABOVE,
            **loss,
        ),
    ]
