"""Statements of FedGroup, each as a comparison of cells."""

from __future__ import annotations

import itertools
from typing import Any

from shoal.recipes.comparing import ABOVE, BELOW, LETTERS, MNIST, each, pair
from shoal.recipes.relations import Relation

T1, G3 = "fedgroup/table1", "fedgroup/table3"
ORDER = ("classes-1", "classes-3", "classes-5", "classes-10")


def table1() -> list[Relation]:
    """What classes per client do to FedAvg."""
    ends: dict[str, Any] = {"left": (f"{T1}/classes-10/fedavg",), "right": (f"{T1}/classes-1/fedavg",)}
    found = [
        Relation(
            "fedgroup/table1-accuracy",
            "ten classes per client instead of one raise the best accuracy by 4.3 points",
            "section II-A",
            **ends,
            least=2,
        ),
        Relation(
            "fedgroup/table1-variance",
            "and lower the variance of the discrepancy by 92.5 %",
            "section II-A",
            **ends,
            quantity="discrepancy_variance",
            scale=1,
            ratio=True,
            most=0.5,
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
        ]
    return found


def fedgroup() -> list[Relation]:
    """What FedGroup says of Table III."""
    here = (*MNIST, *LETTERS)
    return [
        *each("fedgroup/above-fedavg", "FedGroup is above FedAvg", "Table III", G3, here, "fg-edc", "fedavg", least=1),
        *each("fedgroup/above-fesem", "FedGroup is above FeSEM", "abstract", G3, here, "fg-edc", "fesem", **ABOVE),
        *each("fedgroup/rcc", "random centres (RCC) lose", "V-B", G3, here, "fg-rcc-edc", "fg-edc", **BELOW),
        *each("fedgroup/rcc-fesem", "RCC stays above FeSEM", "V-B", G3, here, "fg-rcc-edc", "fesem", **ABOVE),
        *each("fedgroup/rac", "RAC is not above FedAvg", "V-B", G3, here, "fg-rac-edc", "fedavg", most=0),
        Relation(
            "fedgroup/edc-madc",
            "EDC is as good as MADC, within half a point, or better",
            "V-B",
            **pair(G3, here, "fg-edc", "fg-madc"),
            least=-0.5,
        ),
        Relation(
            "fedgroup/edc-madc-synthetic",
            "on Synthetic EDC is not above MADC",
            "Table III",
            **pair(G3, ("synthetic",), "fg-edc", "fg-madc"),
            most=0,
        ),
        Relation(
            "fedgroup/prox-no-gain",
            "the proximal term brings no clear accuracy, at most a point",
            "V-B",
            **pair(G3, here, "fgp-edc", "fg-edc"),
            most=1,
        ),
        Relation(
            "fedgroup/prox-discrepancy",
            "but lowers the discrepancy",
            "V-B",
            **pair(G3, here, "fgp-edc", "fg-edc"),
            **BELOW,
            quantity="discrepancy_mean",
            scale=1,
        ),
        *(
            one
            for column, name in (("ifca", "IFCA"), ("fesem", "FeSEM"))
            for one in each(
                f"fedgroup/initial-discrepancy-{column}",
                f"FedGroup's first discrepancy is below that of {name}",
                "V-B",
                G3,
                here,
                "fg-edc",
                column,
                **BELOW,
                quantity="first_discrepancy",
                scale=1,
            )
        ),
        Relation(
            "fedgroup/eta_g",
            "aggregation between groups speeds up MNIST-MCLR slightly (rounds to 85 %)",
            "V-B",
            ("fedgroup/eta_g/mnist-mclr/fg-eta_g-0.1",),
            (f"{G3}/mnist-mclr/fg-edc",),
            quantity="rounds_to_85",
            scale=1,
            **BELOW,
        ),
        Relation(
            "fedgroup/synthetic-rcc",
            "exception: RCC beats FedGroup on Synthetic",
            "Table III",
            **pair(G3, ("synthetic",), "fg-rcc-edc", "fg-edc"),
            **ABOVE,
        ),
        Relation(
            "fedgroup/synthetic-ifca",
            "exception: so does IFCA",
            "Table III",
            **pair(G3, ("synthetic",), "ifca", "fg-edc"),
            **ABOVE,
        ),
    ]
