"""Statements of ours on what the authors' code and data change, each as a comparison of cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.comparing import ABOVE, APART, BELOW, LETTERS, MNIST, OURS, against_all, each, pair
from shoal.recipes.judging.statements_fedgroup import ETA_G, G3, low_discrepancy
from shoal.recipes.judging.statements_fig3 import OTHERS, STABLE, UNREST
from shoal.recipes.judging.statements_flexcfl import F3, HERE
from shoal.recipes.papers.fedgroup import RATES
from shoal.recipes.papers.flexcfl_columns import REMARKED

TOGETHER: dict[str, Any] = {  # why averaging clients costs FeSEM something on Synthetic
    "cause": "the setting",
    "why": "FeSEM begins with random models here, as in the paper. Where clients are averaged, all of them end "
    "in one group; a single client's update keeps groups apart. From the directions of updates, Shoal's default, they "
    "stay apart, and averaging all clients is the better way.",
    "tells": ("flexcfl/fesem-together", "flexcfl/fesem-directions"),
}


def of_the_code() -> list[Relation]:
    """What the code of FedGroup and FlexCFL does otherwise than the text, and what follows."""
    return [*first_client(), *first_models(), *first_weights(), *groups_apart(), *as_printed()]


def first_client() -> list[Relation]:
    """What it changes that FlexCFL's code applies the first client's update alone."""
    first = [
        one
        for method, name in (("ifca", "IFCA"), ("fesem", "FeSEM"))
        for one in (
            *each(
                f"flexcfl/{method}-first",
                f"the first client alone costs {name}",
                table=F3,
                rows=HERE,
                left=f"{method}-first",
                right=method,
                **BELOW,
                **OURS,
            ),
            *each(
                f"flexcfl/{method}-samples-first",
                f"{name} is better with clients weighted by samples than with the first client alone,",
                table=F3,
                rows=REMARKED,
                left=f"{method}-samples",
                right=f"{method}-first",
                **ABOVE,
                **OURS,
            ),
        )
    ]
    figure: dict[str, Any] = {
        "table": F3,
        "left": "fedprox",
        "others": tuple(f"{name}-first" if name in ("ifca", "fesem") else name for name in OTHERS),
        "over": "least",
        **BELOW,
        **OURS,
    }
    return [
        *each(
            "flexcfl/above-ifca-first",
            "FlexCFL is not below IFCA as the authors' code averages it",
            table=F3,
            rows=HERE,
            left="flexcfl",
            right="ifca-first",
            least=0,
            **OURS,
        ),
        *each(
            "flexcfl/above-fesem-first",
            "FlexCFL is 20 points above FeSEM as the authors' code averages it",
            table=F3,
            rows=LETTERS,
            left="flexcfl",
            right="fesem-first",
            least=20,
            **OURS,
        ),
        *(replace(one, **TOGETHER) if one.name == "flexcfl/fesem-samples-first-synthetic" else one for one in first),
        *against_all(
            "flexcfl/prox-discrepancy-first",
            "with the first client alone in IFCA and FeSEM FedProx has the lowest discrepancy of all",
            rows=MNIST,
            **figure,
            **APART,
        ),
        *against_all(
            "flexcfl/prox-stable-first",
            f"with the first client alone in IFCA and FeSEM {STABLE}",
            rows=("mnist-mclr",),
            **figure,
            **UNREST,
        ),
        *each(
            "flexcfl/initial-discrepancy-ifca-first",
            "FlexCFL's first discrepancy is below that of IFCA with the first client alone",
            table=F3,
            rows=HERE,
            left="flexcfl",
            right="ifca-first",
            quantity="first_discrepancy",
            scale=1,
            **BELOW,
            **OURS,
        ),
    ]


def first_models() -> list[Relation]:
    """FeSEM on Synthetic from random models, and from the directions of updates."""
    return [
        Relation(
            "flexcfl/fesem-together",
            "from random models FeSEM puts all clients of Synthetic into one group",
            left=(f"{F3}/synthetic/fesem",),
            most=1,
            quantity="groups",
            scale=1,
            **OURS,
        ),
        Relation(
            "flexcfl/fesem-directions",
            "from the directions of updates FeSEM is better with all clients than with the first alone, on Synthetic",
            **pair(F3, ("synthetic",), "fesem-directions", "fesem-first-directions"),
            **ABOVE,
            **OURS,
        ),
    ]


def first_weights() -> list[Relation]:
    """FeSEM with weights that start as Keras draws them."""
    row = f"{F3}/mnist-mlp-glorot"
    one_group = [
        Relation(
            f"flexcfl/{method}-one-group-glorot",
            f"with first weights as Keras draws them {name} puts all MNIST-MLP clients into one group",
            left=(f"{row}/{method}",),
            most=1,
            quantity="groups",
            scale=1,
            **OURS,
        )
        for method, name in (("fesem", "FeSEM"), ("fesem-first", "FeSEM with the first client alone"))
    ]
    near = Relation(
        "flexcfl/fesem-first-glorot",
        "with these weights and the first client alone FeSEM is within a point of the paper's 89.8 on MNIST-MLP",
        left=(f"{row}/fesem-first",),
        least=88.8,
        most=90.8,
        **OURS,
    )
    return [*one_group, near]


def groups_apart() -> list[Relation]:
    """FedAvg and FedProx against what FedGroup's first code calls the discrepancy of methods with groups."""
    return low_discrepancy(
        "fedgroup/low-discrepancy-code",
        "'s discrepancy is below how far groups lie from their mean, in every method with groups,",
        quantity="code_discrepancy",
        **OURS,
    )


def as_printed() -> list[Relation]:
    """Aggregation between groups by the formula of the text."""
    flexcfl = Relation(
        "flexcfl/eta_g-printed-mnist-mlp",
        "by the formula as printed eta_g = 0.1 speeds up training on MNIST-MLP",
        left=("flexcfl/fig3/mnist-mlp/eta_g-0.1-printed",),
        right=(f"{F3}/mnist-mlp/flexcfl",),
        quantity="early_accuracy",
        **ABOVE,
        **OURS,
    )
    fedgroup = [
        Relation(
            f"fedgroup/eta_g-{rate}-printed",
            f"by the formula as printed eta_g = {rate} speeds up MNIST-MCLR",
            left=(f"{ETA_G}-{rate}-printed",),
            right=(f"{G3}/mnist-mclr/fg-edc",),
            quantity="early_accuracy",
            **ABOVE,
            **OURS,
        )
        for rate in map("{:g}".format, RATES)
    ]
    return [*fedgroup, flexcfl]


def of_the_data() -> list[Relation]:
    """What it changes that clients share images, or have other sizes."""
    return [
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
            "flexcfl/rcc-by-chance",
            "with shared images RCC varies more over seeds than FlexCFL on FEMNIST-MLP",
            "ours, of the script",
            **pair(F3, ("femnist-mlp-shared",), "rcc", "flexcfl"),
            **ABOVE,
            spread=True,
            ours=True,
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
