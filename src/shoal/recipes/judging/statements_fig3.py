"""Statements of FlexCFL on Fig. 3, curves over rounds, each as a comparison of cells."""

from __future__ import annotations

from typing import Any

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.comparing import ABOVE, APART, BELOW, LETTERS, MNIST, against_all, each
from shoal.recipes.judging.statements_flexcfl import F3, HERE, TEXT

OTHERS = ("fedavg", "ifca", "fesem", "flexcfl", "flexcfl-eta_g")  # curves of Fig. 3 beside FedProx
STABLE = "FedProx's accuracy is the most stable: it moves least from test to test, from round 50 on,"
UNREST: dict[str, Any] = {"quantity": "unrest"}


def figure3() -> list[Relation]:
    """What FlexCFL says of curves without drift."""
    return [*proximal(), *beginnings(), *between_groups()]


def proximal() -> list[Relation]:
    """What Fig. 3 shows of FedProx: against all other curves."""
    lost: dict[str, Any] = {"quantity": "mean_loss", "scale": 1}
    where: dict[str, Any] = {"source": "section 5.2, Fig. 3", "table": F3, "rows": MNIST}
    figure: dict[str, Any] = {**where, "left": "fedprox", "others": OTHERS}
    first: dict[str, Any] = {**figure, "source": "section 5.2, Fig. 3a", "rows": ("mnist-mclr",), "over": "least"}
    return [
        *against_all(
            "flexcfl/prox-stable",
            STABLE,
            cause="text and code differ",
            why="IFCA and FeSEM average all clients of a group here, and are steadier; the authors' code applies the "
            "first client's update alone (D13).",
            tells=("flexcfl/prox-stable-first",),
            **first,
            **BELOW,
            **UNREST,
        ),
        *against_all(
            "flexcfl/prox-discrepancy",
            "FedProx has the lowest discrepancy of all",
            cause="text and code differ",
            why="IFCA averages all clients of a group here, and lies below; the authors' code applies the first "
            "client's update alone (D13), and of that IFCA and FeSEM the discrepancy is above FedProx's.",
            tells=("flexcfl/prox-discrepancy-first",),
            **first,
            **BELOW,
            **APART,
        ),
        *against_all(
            "flexcfl/prox-loss", "but the highest training loss of all", over="largest", **figure, **ABOVE, **lost
        ),
        *each(
            "flexcfl/discrepancy-fedprox",
            "FlexCFL's discrepancy is above that of FedProx",
            left="flexcfl",
            right="fedprox",
            **where,
            **ABOVE,
            **APART,
        ),
    ]


def beginnings() -> list[Relation]:
    """The first rounds, which random centres make worse."""
    loss = "its training loss of the first 100 rounds, over that one's,"
    early: dict[str, Any] = {"quantity": "early_loss", "scale": 1, "ratio": True, "most": 1, "strict": True}
    found = each(
        "flexcfl/faster-fedavg",
        f"FlexCFL converges faster than FedAvg: {loss}",
        "section 5.3",
        F3,
        MNIST,
        "flexcfl",
        "fedavg",
        **early,
    )
    for column, name in (("ifca", "IFCA"), ("fesem", "FeSEM")):
        cells: dict[str, Any] = {"source": TEXT, "table": F3, "left": "flexcfl", "right": column}
        found += [
            *each(
                f"flexcfl/initial-discrepancy-{column}",
                f"FlexCFL's first discrepancy is below that of {name}",
                rows=HERE,
                quantity="first_discrepancy",
                scale=1,
                **cells,
                **BELOW,
            ),
            *each(
                f"flexcfl/faster-{column}",
                f"FlexCFL converges faster than {name}: {loss}",
                rows=MNIST,
                **cells,
                **early,
            ),
        ]
    return found


def between_groups() -> list[Relation]:
    """How fast accuracy rises with eta_g = 0.1, row by row."""
    early: dict[str, Any] = {"table": F3, "left": "flexcfl-eta_g", "right": "flexcfl", "quantity": "early_accuracy"}
    return [
        *each(
            "flexcfl/eta_g",
            "eta_g = 0.1 speeds up training slightly, by the mean accuracy of the first 100 rounds,",
            "section 5.2, Fig. 3d",
            rows=("mnist-mlp",),
            **early,
            **ABOVE,
            cause="text and code differ",
            why="The code divides the formula of the text by the sum of its weights (D12), as is done here.",
            tells=("flexcfl/eta_g-printed",),
        ),
        *each(
            "flexcfl/eta_g-slows",
            "eta_g = 0.1 does not speed up training",
            TEXT,
            rows=("mnist-mclr", *LETTERS, "synthetic"),
            most=0,
            **early,
        ),
    ]
