"""Statements of FedGroup on Table I and Fig. 1, each as a comparison of cells."""

from __future__ import annotations

import itertools
from typing import Any

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.comparing import ABOVE, APART, BELOW

T1 = "fedgroup/table1"
ORDER = ("classes-1", "classes-3", "classes-5", "classes-10")


def table1() -> list[Relation]:
    """What classes per client do to FedAvg."""
    ends: dict[str, Any] = {"left": (f"{T1}/classes-10/fedavg",), "right": (f"{T1}/classes-1/fedavg",)}
    found = [
        Relation(
            "fedgroup/table1-accuracy",
            "ten classes per client instead of one raise the best accuracy, by 4.3 points; at least 2 are asked for",
            "section III-A",
            **ends,
            least=2,
        ),
        Relation(
            "fedgroup/table1-variance",
            "ten classes per client instead of one lower the variance of the discrepancy, by 92.5 %; at least by "
            "half is asked for",
            "section III-A",
            **ends,
            quantity="discrepancy_variance",
            scale=1,
            ratio=True,
            most=0.5,
        ),
        Relation(
            "fedgroup/table1-discrepancy",
            "ten classes per client instead of one lower the discrepancy itself",
            "section III-A, Fig. 1",
            **ends,
            **BELOW,
            **APART,
        ),
        Relation(
            "fedgroup/table1-unrest",
            "ten classes per client instead of one make accuracy steadier: it moves less from test to test, "
            "after a sixth of the rounds",
            "section III-A, Fig. 1",
            **ends,
            **BELOW,
            quantity="unrest",
        ),
    ]
    for less, more in itertools.pairwise(ORDER):
        cells: dict[str, Any] = {"left": (f"{T1}/{more}/fedavg",), "right": (f"{T1}/{less}/fedavg",)}
        words = f"{more.removeprefix('classes-')} classes instead of {less.removeprefix('classes-')}"
        found += [
            Relation(f"fedgroup/table1-best-{more}", f"{words}: higher best accuracy", "Table I", **cells, **ABOVE),
            Relation(
                f"fedgroup/table1-rounds-{more}",
                f"{words}: fewer rounds to 85 %",
                "Table I",
                **cells,
                **BELOW,
                quantity="rounds_to_85",
                scale=1,
            ),
            Relation(
                f"fedgroup/table1-variance-{more}",
                f"{words}: a lower variance of the discrepancy",
                "Table I",
                **cells,
                **BELOW,
                quantity="discrepancy_variance",
                scale=1,
            ),
        ]
    return found
