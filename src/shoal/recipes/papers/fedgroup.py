"""FedGroup: Duan et al., "FedGroup: Efficient Federated Learning via Decomposed Similarity-Based Clustering"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.recipes.papers.duan import (
    LETTERS,
    MILD,
    MILD_NOTE,
    MNIST,
    RAC_ABOUT,
    SAME_IMAGES,
    SENT140,
    SHARED_NOTE,
    SIZES,
    SYNTHETIC,
    Column,
    Row,
    cells_of,
    federations,
)
from shoal.recipes.records import BEST, Cell, Panel, Paper, Quantity, Table

TABLE1 = {  # classes per client: discrepancy mean, variance, accuracy max, median, rounds to 85 %
    1: (0.767, 0.11, 87.9, 79.3, 39),
    3: (0.767, 0.073, 90.9, 87.0, 14),
    5: (0.685, 0.021, 91.3, 90.0, 10),
    10: (0.627, 0.0082, 92.2, 91.5, 4),
}
TABLE1_QUANTITIES = (
    Quantity("discrepancy_mean", "discrepancy, mean", digits=3),
    Quantity("discrepancy_variance", "discrepancy, variance", digits=4),
    BEST,
    Quantity("median_accuracy", "accuracy, median %", 100),
    Quantity("rounds_to_85", "rounds to 85 %", digits=0),
)
TABLE3 = {  # FedAvg, FedProx, IFCA, FeSEM, then FedGroup: RCC, RAC, EDC, EDC + prox, MADC, MADC + prox
    "mnist-mclr": (89.8, 90.7, 95.3, 89.1, 92.6, 88.8, 96.0, 96.1, 95.6, 95.3),
    "mnist-mlp": (95.3, 94.6, 97.8, 93.9, 96.5, 94.3, 97.9, 97.7, 97.9, 97.7),
    "femnist-mclr": (78.8, 77.9, 87.9, 65.6, 88.8, 74.7, 91.7, 91.7, 91.2, 90.7),
    "femnist-mlp": (82.7, 81.0, 95.5, 69.9, 91.5, 78.4, 96.8, 95.4, 94.6, 93.6),
    "synthetic": (74.7, 81.5, 95.5, 92.1, 92.9, None, 88.4, 87.4, 92.1, 88.5),
    "sent140-lstm": (72.2, 71.9, 76.8, 70.0, 76.1, 72.2, 75.3, 75.4, 75.8, 75.4),
}

COMMON = {"rounds": 300, "clients_per_round": 20, "epochs": 20, "batch": 10}
ROWS = {
    "mnist-mclr": Row({**MNIST, "model": "mnist-mclr"}, minutes=0.15, departures=("D73",)),
    "mnist-mclr-sigma1.55": Row({**MILD, "model": "mnist-mclr"}, minutes=0.15, note=MILD_NOTE, twin="mnist-mclr"),
    "mnist-mlp": Row({**MNIST, "model": "mnist-mlp"}, minutes=1, departures=("D73",)),
    "mnist-mlp-sigma1.55": Row({**MILD, "model": "mnist-mlp"}, minutes=1, note=MILD_NOTE, twin="mnist-mlp"),
    "femnist-mclr": Row({**LETTERS, "model": "femnist-mclr-26"}, departures=("D24", "D25")),
    "femnist-mclr-shared": Row(
        {**SAME_IMAGES, "model": "femnist-mclr-26"}, departures=("D25",), note=SHARED_NOTE, twin="femnist-mclr"
    ),
    "femnist-mlp": Row({**LETTERS, "model": "femnist-mlp-26"}, minutes=2, departures=("D24", "D25")),
    "femnist-mlp-shared": Row(
        {**SAME_IMAGES, "model": "femnist-mlp-26"},
        minutes=2,
        departures=("D25",),
        note=SHARED_NOTE,
        twin="femnist-mlp",
    ),
    "synthetic": Row({**SYNTHETIC, "model": "synthetic-mclr"}, departures=("D96",)),
    "sent140-lstm": Row(
        {"data": "sent140", "lr": 0.3, "groups": 5, "rounds": 800, "model": "sent140-lstm-fedgroup"},
        mu=0.01,
        why_not=SENT140,
    ),
}
EAGER = {"cold_start": "eager"}  # the authors' code gives everybody a group before the first round
GROUPED = ("D7", "D9", "D10", "D11", "D46", "D47")
COLUMNS = {
    "fedavg": Column("fedavg", takes_groups=False),
    "fedprox": Column("fedprox", takes_groups=False, takes_mu=True, departures=("D34",)),
    "ifca": Column("ifca", {"weighting": "samples"}, departures=("D14", "D53"), cost=1.2),
    "fesem": Column(
        "fesem", {"init": "random_models", "e_step": "before", "weighting": "samples"}, departures=("D14", "D88")
    ),
    "fg-rcc-edc": Column("fedgroup", {**EAGER, "centres": "random"}, departures=GROUPED),
    "fg-rac-edc": Column("fedgroup", {**EAGER, "newcomers": "random"}, departures=(*GROUPED, "D29")),
    "fg-edc": Column("fedgroup", EAGER, departures=GROUPED),
    "fgp-edc": Column("fedgrouprox", EAGER, takes_mu=True, departures=GROUPED),
    "fg-madc": Column("fedgroup", {**EAGER, "measure": "madc"}, departures=GROUPED),
    "fgp-madc": Column("fedgrouprox", {**EAGER, "measure": "madc"}, takes_mu=True, departures=GROUPED),
}


def table1() -> tuple[Cell, ...]:
    """All cells of Table I, with the sizes of the script and with those that the paper states."""
    found = []
    for classes, figures in TABLE1.items():
        for end, note in (("", ""), ("-sigma1.55", MILD_NOTE)):
            partition = f"power-law:classes={classes}" + (":sigma=1.55" if end else "")
            keys = {**COMMON, "data": "mnist", "partition": partition, "model": "mnist-mclr", "lr": 0.03}
            paper = dict(zip((q.name for q in TABLE1_QUANTITIES), figures, strict=True))
            row = f"classes-{classes}{end}"
            departures = ("D2", "D78", *(() if end else ("D73",)))
            of = f"fedgroup/table1/classes-{classes}/fedavg" if end else ""
            found.append(
                Cell("fedgroup/table1", row, "fedavg", "fedavg", keys, paper, 5, 0.05, departures, note=note, of=of)
            )
    return tuple(found)


def table3() -> tuple[Cell, ...]:
    """All cells of Table III. Everybody is asked once before anybody is asked again, as in the authors' code."""
    common = {**COMMON, "selection": "round-robin-then-random"}
    cells = cells_of("fedgroup/table3", ROWS, COLUMNS, TABLE3, common, 5, ("D1", "D2", "D27", "D76", "D98"))
    return tuple(replace(cell, keeps=("apart",)) if COLUMNS[cell.column].takes_groups else cell for cell in cells)


RATES = (0.01, 0.03, 0.1)  # of eta_g; the text names none, 0.1 is that of FlexCFL
ETAS: dict[str, dict[str, Any]] = {
    f"fg-eta_g-{rate:g}{end}": {**EAGER, "eta_g": rate, **form}
    for rate in RATES
    for end, form in (("", {}), ("-printed", {"inter_group": "paper"}))
}


def eta_g() -> tuple[Cell, ...]:
    """FedGroup with aggregation between groups, which the text speaks of and no table has."""
    common = {**COMMON, "selection": "round-robin-then-random"}
    columns = {name: Column("fedgroup", keys, departures=(*GROUPED, "D12")) for name, keys in ETAS.items()}
    row, none = {"mnist-mclr": ROWS["mnist-mclr"]}, {"mnist-mclr": [None] * len(columns)}
    return cells_of("fedgroup/eta_g", row, columns, none, common, 5, ("D1", "D2", "D27", "D76", "D98"))


def panels(rows: tuple[str, ...]) -> tuple[Panel, ...]:
    """Accuracy, training loss and discrepancy of the rows of Table III."""
    shown = [name for name in COLUMNS if name not in ("fg-rcc-edc", "fg-rac-edc")]
    return tuple(
        Panel(f"{row}: {curve}", curve, tuple(f"fedgroup/table3/{row}/{column}" for column in shown))
        for row in rows
        for curve in ("accuracy", "loss", "discrepancy")
    )


FIG1 = tuple(
    Panel(f"classes per client: {curve}", curve, tuple(f"fedgroup/table1/classes-{n}/fedavg" for n in TABLE1))
    for curve in ("accuracy", "discrepancy")
)

PAPER = Paper(
    "fedgroup",
    "FedGroup: Efficient Federated Learning via Decomposed Similarity-Based Clustering",
    "Duan, Liu, Ji, Liu, Liang, Chen, Tan; arXiv 2010.06870, 2021",
    (
        Table(
            "fedgroup/table1",
            "FedAvg on MNIST with 1, 3, 5 and 10 classes per client (also Table 1 of FlexCFL)",
            table1(),
            TABLE1_QUANTITIES,
            about="The paper has one run. The variance of the discrepancy hangs on whether the draw of the sizes has a "
            "giant client, and differs more between seeds than between 3 and 5 classes; the law of the "
            "script draws wilder sizes than FedProx states of its MNIST (D73).",
        ),
        Table(
            "fedgroup/table3",
            "Best accuracy of ten methods",
            table3(),
            about="E = 20, 20 clients a round, 300 rounds, which the paper does not give (D98); FG is FedGroup, FGP "
            "FedGrouProx. The paper selects at random. Here everybody is asked once before anybody is asked again "
            "(D1), by all methods: of 1,000 clients two or three on average are never selected in 300 rounds of "
            "20 random ones, and as long as one of them has no model, no round of IFCA and FeSEM counts (D76). "
            + RAC_ABOUT,
        ),
        Table(
            "fedgroup/eta_g",
            "Aggregation between groups",
            eta_g(),
            about="Not a table of the paper, whose text names no value. `-printed` has the formula as printed, the "
            "others the mean that the authors' code makes of it (D12); eta_g = 0 is `fg-edc` of Table III.",
        ),
        Table(
            "fedgroup/table2",
            "Data sets",
            federations("fedgroup/table2", ("mnist", "mnist-sigma1.55", "femnist", "femnist-shared", "synthetic")),
            SIZES,
            about="The table has devices and samples. FedProx, whose federations of MNIST and FEMNIST both papers use, "
            "states 69 ± 106 and 92 ± 159 samples a device; how sizes differ from draw to draw is on the page of the "
            "papers' code. Weights of the models, which are the paper's, are on the page of models.",
            elsewhere="docs/models.md",
        ),
        Table("fedgroup/fig1", "FedAvg with 1, 3, 5 and 10 classes per client (also FlexCFL)", panels=FIG1),
        Table("fedgroup/fig3", "MNIST and FEMNIST", panels=panels(("mnist-mclr", "mnist-mlp", "femnist-mlp"))),
        Table("fedgroup/fig4", "Synthetic", panels=panels(("synthetic",)), about="Sent140 cannot be run here."),
        Table("fedgroup/fig5", "EDC over MADC", elsewhere="docs/results/edc-madc.md"),
    ),
)
