"""FlexCFL: Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution Shift"."""

from __future__ import annotations

from dataclasses import replace

from shoal.recipes.papers.duan import RAC_ABOUT, SIZES, Column, cells_of, federations
from shoal.recipes.papers.flexcfl_columns import (
    AS_KERAS,
    BEGUN_APART,
    BY_SAMPLES,
    COMMON,
    DRIFTS,
    EVERYWHERE,
    IFCA_FESEM,
    MIGRATING,
    MOVING,
    NO_PENALTY,
    ONE_MODEL,
    PRINTED,
    RATES3,
    RATES5,
    REMARKED,
    ROWS,
    STATIC,
    rows_in_code,
    sweep_of,
)
from shoal.recipes.papers.flexcfl_figures import TABLE3, TABLE4
from shoal.recipes.records import BEST, Cell, Panel, Paper, Quantity, Table


def table3() -> tuple[Cell, ...]:
    """All cells of Table 3, with FeSEM and IFCA as they are meant and as the authors' code averages them."""
    columns = {**ONE_MODEL, **IFCA_FESEM, **BY_SAMPLES, **BEGUN_APART, **STATIC}
    some = {**dict.fromkeys(BY_SAMPLES, REMARKED), **dict.fromkeys(BEGUN_APART, ("synthetic",))}
    cells = cells_of("flexcfl/table3", ROWS | AS_KERAS | NO_PENALTY, columns, TABLE3, COMMON, 5, EVERYWHERE)
    wanted = (cell for cell in cells if cell.row in some.get(cell.column, (cell.row,)))
    return tuple(cell for cell in wanted if cell.row not in NO_PENALTY or cell.algorithm == "fesem")


def table4(drift: str) -> tuple[Cell, ...]:
    """The cells of Table 4 under one drift."""
    keys, departures = DRIFTS[drift]
    rows = {name: replace(row, seeds=None) for name, row in (ROWS | rows_in_code(drift)).items()}
    columns = {"fedavg": ONE_MODEL["fedavg"], **IFCA_FESEM, **MOVING}
    common = {**COMMON, "drift": keys}
    name = f"flexcfl/table4-{drift}"
    return cells_of(name, rows, columns, TABLE4[drift], common, 3, (*EVERYWHERE, *departures))


def extra(table: str, row: str, columns: dict[str, Column], drift: str = "", seeds: int = 3) -> tuple[Cell, ...]:
    """Cells of a figure that no table has; the paper prints no numbers of them."""
    common, departures = dict(COMMON), (*EVERYWHERE, *(DRIFTS[drift][1] if drift else ()))
    if drift:
        common["drift"] = DRIFTS[drift][0]
    rows = {row: replace(ROWS[row], seeds=seeds)}
    return cells_of(
        table, rows, columns, {row: [None for c in columns.values() if not c.twin]}, common, seeds, departures
    )


SHOWN = ("fedavg", "fedprox", "ifca", "fesem", "flexcfl", "flexcfl-eta_g")
SENT_OUT = Quantity("vectors", "models sent", digits=0)
MLP_PART = "flexcfl/table4-swap-part/femnist-mlp"


def figure3() -> tuple[Panel, ...]:
    """Curves of Table 3 on MNIST, and the sweep of eta_g."""
    rows = ("mnist-mclr", "mnist-mlp", "mnist-cnn")
    found = [
        Panel(f"{row}: {curve}", curve, tuple(f"flexcfl/table3/{row}/{column}" for column in SHOWN))
        for row in rows
        for curve in ("accuracy", "loss", "discrepancy")
    ]
    known = ("flexcfl/table3/mnist-mlp/flexcfl", "flexcfl/table3/mnist-mlp/flexcfl-eta_g")
    sweep = (*known, *(f"flexcfl/fig3/mnist-mlp/{name}" for name in RATES3))
    return (*found, Panel("mnist-mlp: eta_g", "accuracy", sweep))


FIG5 = (
    f"{MLP_PART}/flexcfl",
    *(f"flexcfl/fig5/femnist-mlp/{name}" for name in RATES5),
    f"{MLP_PART}/flexcfl-eta_g",
)


def figure4() -> tuple[Panel, ...]:
    """Accuracy under the three drifts."""
    columns = ("fedavg", "ifca", "fesem", "fedgroup", "flexcfl", "flexcfl-eta_g")
    return tuple(
        Panel(f"{row}: {drift}", "accuracy", tuple(f"flexcfl/table4-{drift}/{row}/{column}" for column in columns))
        for drift in DRIFTS
        for row in ("mnist-mclr", "femnist-mclr", "femnist-mlp")
    )


def figure6() -> tuple[Panel, ...]:
    """What is sent in 300 rounds, and what is reached: the columns of Table 4 and both with migration."""
    columns = ("fedavg", "ifca", "fesem", "flexcfl", "flexcfl-eta_g")
    return tuple(
        Panel(
            f"{row}: {drift}",
            "traffic",
            (
                *(f"flexcfl/table4-{drift}/{row}/{column}" for column in columns),
                *(f"flexcfl/fig6/{row}/{column}" for column in MIGRATING),
            ),
        )
        for row, drift in (("mnist-mclr", "swap-all"), ("femnist-mlp", "swap-part"))
    )


NOTICED = Quantity("noticed", "changes of clients' data that are noticed %", 100)
TESTS = (
    "FlexCFL stands twice: with a shift test that compares class by class, and with that of the authors' code "
    "(`counts`). A change may be noticed late or, if it is small, never."
)
ABOUT = (
    "E = 10, 20 clients a round, 300 rounds; the best accuracy over the rounds in which every client has a model. "
    "IFCA and FeSEM stand twice: with the mean of all clients of a group, and as the authors' code applies it. FeSEM "
    "begins with random models, as in the paper. " + RAC_ABOUT
)

PAPER = Paper(
    "flexcfl",
    "Flexible Clustered Federated Learning for Client-Level Data Distribution Shift",
    "Duan, Liu, Ji, Wu, Liang, Chen, Tan, Ren; IEEE TPDS 33, 2022",
    (
        Table(
            "flexcfl/table3",
            "Best accuracy without drift",
            table3(),
            about=ABOUT,
        ),
        *(
            Table(
                f"flexcfl/table4-{drift}",
                f"Best accuracy under {drift.replace('-', ' ')}",
                table4(drift),
                (BEST, NOTICED),
                about=TESTS,
            )
            for drift in DRIFTS
        ),
        Table(
            "flexcfl/table2",
            "Data sets",
            federations("flexcfl/table2", ("fashion-mnist",)),
            SIZES,
            about="MNIST, FEMNIST and Synthetic are those of FedGroup's Table II; weights are on the page of models.",
            elsewhere="docs/models.md",
        ),
        Table(
            "flexcfl/fig3",
            "MNIST without drift, and several eta_g",
            extra("flexcfl/fig3", "mnist-mlp", sweep_of(RATES3) | PRINTED, seeds=5),
            panels=figure3(),
            about="The values of eta_g but for 0.1 are ours.",
        ),
        Table(
            "flexcfl/fig4",
            "Accuracy under drift",
            panels=figure4(),
            about="The paper draws CNNs; softmax regression and perceptrons here.",
        ),
        Table(
            "flexcfl/fig5",
            "Several eta_g under swap part",
            extra("flexcfl/fig5", "femnist-mlp", sweep_of(RATES5), "swap-part"),
            panels=(Panel("femnist-mlp", "accuracy", FIG5),),
            about="The values of eta_g but for 0 and 5 are ours.",
        ),
        Table(
            "flexcfl/fig6",
            "Traffic against accuracy, with IFCA-MIG and FeSEM-MIG",
            (
                *extra("flexcfl/fig6", "mnist-mclr", MIGRATING, "swap-all"),
                *extra("flexcfl/fig6", "femnist-mlp", MIGRATING, "swap-part"),
            ),
            (BEST, SENT_OUT),
            figure6(),
            about="MNIST-MCLR under swap all and FEMNIST-MLP under swap part, with the columns of Table 4; models that "
            "are sent in the whole run, and the best accuracy in it. The paper does not say what its two panels show: "
            "both were inferred from the gains that its text tells of, which are differences of these rows of Table 4 "
            "(+5.2 and +8.1).",
        ),
    ),
)
