"""Statements of FlexCFL, and of what its authors' code does, each as a comparison of cells."""

from __future__ import annotations

from typing import Any

from shoal.recipes.comparing import ABOVE, BELOW, LETTERS, MNIST, NAMES, each, pair
from shoal.recipes.relations import Relation

PLAIN_MEAN = (
    "IFCA has the mean of all clients of a group here, as the text describes it; the authors' code applies the first "
    "client's update alone, which is the column `ifca-first`. Both stand beside the paper's figure in the table."
)
CODE: dict[str, Any] = {"cause": "the paper", "why": PLAIN_MEAN}

F3 = "flexcfl/table3"


def flexcfl() -> list[Relation]:
    """What FlexCFL says of Table 3, and what its code adds."""
    here = (*MNIST, *LETTERS)
    source = "section 5.2"
    return [
        *each("flexcfl/above-fedavg", "FlexCFL is above FedAvg", source, F3, here, "flexcfl", "fedavg", least=2),
        Relation(
            "flexcfl/above-fedavg-4",
            "FlexCFL is at least 4 points above FedAvg on MNIST-MCLR",
            "Table 3",
            **pair(F3, ("mnist-mclr",), "flexcfl", "fedavg"),
            least=4,
        ),
        Relation(
            "flexcfl/ifca-above-fedavg",
            "IFCA is at least 3 points above FedAvg on MNIST-MCLR",
            "Table 3",
            **pair(F3, ("mnist-mclr",), "ifca", "fedavg"),
            least=3,
        ),
        *each("flexcfl/above-fesem", "FlexCFL is above FeSEM", source, F3, here, "flexcfl", "fesem", least=2),
        *each(
            "flexcfl/above-ifca",
            "FlexCFL is not below IFCA",
            source,
            F3,
            here,
            "flexcfl",
            "ifca",
            least=0,
            tells=("flexcfl/above-ifca-first",),
            **CODE,
        ),
        *each(
            "flexcfl/above-ifca-first",
            "FlexCFL is not below IFCA as the authors' code averages it",
            "ours",
            F3,
            here,
            "flexcfl",
            "ifca-first",
            least=0,
            ours=True,
        ),
        *each("flexcfl/rac", "RAC falls below FedAvg", source, F3, here, "rac", "fedavg", **BELOW),
        *each("flexcfl/rcc", "RCC costs at most 3 points", source, F3, here, "rcc", "flexcfl", least=-3, most=1),
        *each("flexcfl/rcc-fesem", "RCC stays above FeSEM", source, F3, here, "rcc", "fesem", **ABOVE),
        Relation(
            "flexcfl/synthetic-rcc",
            "exception: RCC is not below FlexCFL on Synthetic",
            "Table 3",
            **pair(F3, ("synthetic",), "rcc", "flexcfl"),
            least=0,
        ),
        Relation(
            "flexcfl/prox-discrepancy",
            "FedProx has the lowest discrepancy (against FedAvg)",
            "Fig. 3",
            **pair(F3, MNIST, "fedprox", "fedavg"),
            **BELOW,
            quantity="discrepancy_mean",
            scale=1,
        ),
        Relation(
            "flexcfl/fesem-one-group",
            "FeSEM puts all MNIST-MLP clients into one group",
            source,
            (f"{F3}/mnist-mlp/fesem-first",),
            most=1,
            quantity="groups",
            scale=1,
            cause="chance",
            why="Centres are drawn at random: whether one of them takes everybody differs from seed to seed.",
        ),
        *(
            one
            for method, name in (("ifca", "IFCA"), ("fesem", "FeSEM"))
            for one in each(
                f"flexcfl/{method}-first",
                f"the first client alone costs {name}",
                "ours, of the code",
                F3,
                here,
                f"{method}-first",
                method,
                **BELOW,
                ours=True,
            )
        ),
        *(
            Relation(
                f"flexcfl/shared-{model}",
                f"shared images lift FlexCFL on FEMNIST-{model.upper()}",
                "ours, of the script",
                (f"{F3}/femnist-{model}-shared/flexcfl",),
                (f"{F3}/femnist-{model}/flexcfl",),
                least=2,
                ours=True,
            )
            for model in ("mclr", "mlp")
        ),
        Relation(
            "flexcfl/milder-sizes",
            "milder sizes of clients lift FlexCFL a little",
            "ours, Table 2 against the script",
            (f"{F3}/mnist-mclr-sigma1.55/flexcfl",),
            (f"{F3}/mnist-mclr/flexcfl",),
            **ABOVE,
            ours=True,
        ),
    ]


def drift() -> list[Relation]:
    """What FlexCFL says of Table 4."""
    all_, part, more = (f"flexcfl/table4-{name}" for name in ("swap-all", "swap-part", "incremental"))
    source = "section 5.3"
    here = (*MNIST, *LETTERS)
    moved: list[Relation] = [
        Relation(
            f"flexcfl/swap-all-{method}-{row}",
            f"swap all {words} {method} on {NAMES[row]}",
            source,
            (f"{all_}/{row}/{column}",),
            (f"{F3}/{row}/{against}",),
            **bounds,
        )
        for method, column, against, words, bounds in (
            ("FedAvg", "fedavg", "fedavg", "does not touch", {"least": -2.5, "most": 2.5}),
            ("IFCA", "ifca", "ifca", "costs", {"most": -2}),
            ("FedGroup", "fedgroup", "flexcfl", "costs", {"most": -2}),
        )
        for row in here
    ]
    return [
        *moved,
        Relation(
            "flexcfl/swap-all-3",
            "swap all: FlexCFL is at least 3 points above FedGroup on MNIST-MCLR",
            "Table 4",
            **pair(all_, ("mnist-mclr",), "flexcfl", "fedgroup"),
            least=3,
        ),
        *each("flexcfl/all-fedavg", "swap all: FlexCFL above FedAvg", source, all_, here, "flexcfl", "fedavg", **ABOVE),
        *each("flexcfl/all-ifca", "swap all: FlexCFL above IFCA", source, all_, here, "flexcfl", "ifca", **ABOVE),
        *each(
            "flexcfl/part-ifca",
            "swap part: FlexCFL above IFCA",
            source,
            part,
            here,
            "flexcfl",
            "ifca",
            tells=("flexcfl/part-ifca-first",),
            **ABOVE,
            **CODE,
        ),
        *each(
            "flexcfl/part-ifca-first",
            "swap part: FlexCFL above IFCA as the authors' code averages it",
            "ours",
            part,
            here,
            "flexcfl",
            "ifca-first",
            **ABOVE,
            ours=True,
        ),
        Relation(
            "flexcfl/incremental-equal",
            "incremental: FlexCFL and FedGroup are nearly equal",
            source,
            **pair(more, here, "flexcfl", "fedgroup"),
            least=-1,
            most=1,
        ),
        Relation(
            "flexcfl/part-eta_g",
            "swap part: eta_g = 5 helps on FEMNIST",
            source,
            **pair(part, LETTERS, "flexcfl-eta_g", "flexcfl"),
            least=1,
        ),
        Relation(
            "flexcfl/incremental-eta_g",
            "incremental: eta_g = 5 does not help",
            source,
            **pair(more, MNIST, "flexcfl-eta_g", "flexcfl"),
            most=0,
        ),
        Relation(
            "flexcfl/traffic",
            "under swap all FlexCFL sends 1.26 times what FedAvg sends",
            "Fig. 6a",
            **pair(all_, ("mnist-mclr",), "flexcfl", "fedavg"),
            quantity="vectors",
            scale=1,
            ratio=True,
            least=1.2,
            most=1.32,
        ),
        Relation(
            "flexcfl/traffic-ifca",
            "and IFCA-MIG 5.48 times",
            "Fig. 6a",
            ("flexcfl/fig6/mnist-mclr/ifca-mig",),
            (f"{all_}/mnist-mclr/fedavg",),
            quantity="vectors",
            scale=1,
            ratio=True,
            least=4.9,
            most=6.0,
        ),
        *migrating(all_, part),
    ]


def migrating(all_: str, part: str) -> list[Relation]:
    """What is said about Fig. 6, beside the traffic of FlexCFL and IFCA-MIG."""
    mnist, letters = "mnist-mclr", "femnist-mlp"
    sent: dict[str, Any] = {"quantity": "vectors", "scale": 1.0, "ratio": True}
    same = [
        Relation(
            f"flexcfl/fesem-mig-{row}",
            f"FeSEM-MIG is as accurate as FeSEM, within a point, on {NAMES[row]}",
            "section 5.3",
            (f"flexcfl/fig6/{row}/fesem-mig",),
            (f"{table}/{row}/fesem",),
            least=-1,
            most=1,
        )
        for row, table in ((mnist, all_), (letters, part))
    ]
    return [
        *same,
        Relation(
            "flexcfl/traffic-fesem",
            "FeSEM-MIG sends as little as FedAvg",
            "section 5.3",
            (f"flexcfl/fig6/{mnist}/fesem-mig",),
            (f"{all_}/{mnist}/fedavg",),
            least=0.99,
            most=1.01,
            **sent,
        ),
        Relation(
            "flexcfl/ifca-mig",
            "under swap all IFCA-MIG is above FedAvg on MNIST-MCLR, by 1.9 points",
            "Fig. 6a",
            (f"flexcfl/fig6/{mnist}/ifca-mig",),
            (f"{all_}/{mnist}/fedavg",),
            **ABOVE,
        ),
        Relation(
            "flexcfl/traffic-eta_g",
            "under swap part eta_g = 5 sends 11.4 % more on FEMNIST-MLP",
            "Fig. 6b",
            **pair(part, (letters,), "flexcfl-eta_g", "flexcfl"),
            least=1.1,
            most=1.13,
            **sent,
        ),
    ]
