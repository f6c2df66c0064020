"""FlexCFL: Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution Shift"."""

from __future__ import annotations

from dataclasses import replace

from shoal.recipes.papers.duan import (
    DITTO,
    FIRST_NOTE,
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
from shoal.recipes.papers.flexcfl_figures import TABLE3, TABLE4
from shoal.recipes.records import BEST, Cell, Panel, Paper, Quantity, Table

COMMON = {
    "rounds": 300,
    "clients_per_round": 20,
    "selection": "round-robin-then-random",
    "epochs": 10,
    "batch": 10,
}
L2 = {"l2": 0.001}
SENT = {"data": "sent140", "lr": 0.3, "groups": 5, "rounds": 800}
MANY_SEEDS = 10  # of the row that the authors' averaging is shown on

ROWS = {
    "mnist-mclr": Row({**MNIST, **L2, "model": "mnist-mclr"}, minutes=0.1, departures=("D73",), seeds=MANY_SEEDS),
    "mnist-mclr-sigma1.55": Row({**MILD, **L2, "model": "mnist-mclr"}, minutes=0.1, note=MILD_NOTE, twin="mnist-mclr"),
    "mnist-mlp": Row({**MNIST, **L2, "model": "mnist-mlp"}, minutes=0.5, departures=("D73",)),
    "mnist-mlp-sigma1.55": Row({**MILD, **L2, "model": "mnist-mlp"}, minutes=0.5, note=MILD_NOTE, twin="mnist-mlp"),
    "mnist-cnn": Row({**MNIST, "model": "mnist-cnn"}, minutes=70, departures=("D73",)),
    "femnist-mclr": Row({**LETTERS, **L2, "model": "femnist-mclr-10"}, minutes=0.1, departures=("D24",)),
    "femnist-mclr-shared": Row(
        {**SAME_IMAGES, **L2, "model": "femnist-mclr-10"}, minutes=0.1, note=SHARED_NOTE, twin="femnist-mclr"
    ),
    "femnist-mlp": Row({**LETTERS, **L2, "model": "femnist-mlp-10"}, minutes=1, departures=("D24",)),
    "femnist-mlp-shared": Row(
        {**SAME_IMAGES, **L2, "model": "femnist-mlp-10"}, minutes=1, note=SHARED_NOTE, twin="femnist-mlp"
    ),
    "femnist-cnn": Row({**LETTERS, **L2, "model": "femnist-cnn"}, minutes=260, departures=("D24",)),
    "synthetic": Row({**SYNTHETIC, **L2, "model": "synthetic-mclr"}, minutes=0.1, departures=("D96",)),
    "fashion-mnist-cnn": Row({**DITTO, "model": "fmnist-cnn"}, minutes=310, departures=("D97",)),
    "sent140-gru": Row({**SENT, "model": "sent140-gru"}, mu=0.01, why_not=SENT140),
    "sent140-lstm": Row({**SENT, "model": "sent140-lstm"}, mu=0.01, why_not=SENT140),
}
KERAS_NOTE = "weights start as Keras draws them, which the authors' code uses (D101)"
AS_KERAS = {  # of Table 3 alone
    "mnist-mlp-glorot": replace(
        ROWS["mnist-mlp"], keys={**MNIST, **L2, "model": "mlp:start=glorot"}, note=KERAS_NOTE, twin="mnist-mlp"
    )
}
NO_PENALTY = {  # of FeSEM alone
    "mnist-mlp-glorot-no-l2": replace(
        AS_KERAS["mnist-mlp-glorot"],
        keys={**MNIST, "model": "mlp:start=glorot"},
        note=f"{KERAS_NOTE}, and no penalty on them",
    )
}
FESEM = {"init": "random_models", "e_step": "before"}
ONE_MODEL = {
    "fedavg": Column("fedavg", takes_groups=False),
    "fedprox": Column("fedprox", takes_groups=False, takes_mu=True, departures=("D3", "D34")),
}
IFCA_FESEM = {
    "ifca": Column("ifca", departures=("D13", "D53"), cost=1.2),
    "ifca-first": Column("ifca", {"weighting": "first"}, departures=("D87",), twin="ifca", cost=1.2, note=FIRST_NOTE),
    "fesem": Column("fesem", FESEM, departures=("D13", "D88")),
    "fesem-first": Column(
        "fesem", {**FESEM, "weighting": "first"}, departures=("D87", "D88"), twin="fesem", note=FIRST_NOTE
    ),
}
GROUPED = ("D7", "D9", "D10", "D11", "D46", "D47")
STATIC = {
    "rcc": Column("flexcfl", {"centres": "random"}, departures=GROUPED),
    "rac": Column("flexcfl", {"newcomers": "random"}, departures=(*GROUPED, "D29")),
    "flexcfl": Column("flexcfl", departures=GROUPED),
    "flexcfl-eta_g": Column("flexcfl", {"eta_g": 0.1}, departures=(*GROUPED, "D12")),
}
COUNTS = {"migration": "counts"}
COUNTS_NOTE = "the shift test of the authors' code, which forgets the class that a count belongs to (D19)"
MOVING = {
    "fedgroup": Column("fedgroup", departures=GROUPED),
    "flexcfl": Column("flexcfl", departures=(*GROUPED, "D19", "D20")),
    "flexcfl-eta_g": Column("flexcfl", {"eta_g": 5.0}, departures=(*GROUPED, "D12", "D19", "D20")),
    "flexcfl-counts": Column("flexcfl", COUNTS, departures=(*GROUPED, "D20"), twin="flexcfl", note=COUNTS_NOTE),
    "flexcfl-eta_g-counts": Column(
        "flexcfl",
        {"eta_g": 5.0, **COUNTS},
        departures=(*GROUPED, "D12", "D20"),
        twin="flexcfl-eta_g",
        note=COUNTS_NOTE,
    ),
}
DRIFTS = {
    "swap-all": ("swap-all:0.05", ("D71",)),
    "swap-part": ("swap-part:0.05", ("D21", "D71", "D72")),
    "incremental": ("incremental", ("D22", "D23")),
}
EVERYWHERE = ("D1", "D2", "D26", "D27", "D76")


def table3() -> tuple[Cell, ...]:
    """All cells of Table 3, with FeSEM and IFCA as they are meant and as the authors' code averages them."""
    columns = {**ONE_MODEL, **IFCA_FESEM, **STATIC}
    cells = cells_of("flexcfl/table3", ROWS | AS_KERAS | NO_PENALTY, columns, TABLE3, COMMON, 5, EVERYWHERE)
    return tuple(cell for cell in cells if cell.row not in NO_PENALTY or cell.algorithm == "fesem")


SHRINKING = {"drift": "incremental:shrinking=true:cold_start_on_full_data=true"}
SHRINKING_NOTE = "data shrink, and the cold start sees all of them, as in the authors' code (D22, D23)"


def shrinking(name: str) -> Row:
    """A row under the incremental drift as the authors' code plays it."""
    row = ROWS[name]
    note = "; ".join(filter(None, (row.note, SHRINKING_NOTE)))
    return replace(row, keys={**row.keys, **SHRINKING}, note=note, twin=row.twin or name)


def table4(drift: str) -> tuple[Cell, ...]:
    """The cells of Table 4 under one drift."""
    keys, departures = DRIFTS[drift]
    rows = {name: replace(row, seeds=None) for name, row in ROWS.items()}
    if drift == "incremental":
        names = ("mnist-mclr", "femnist-mclr-shared")
        rows |= {f"{name}-shrinking": replace(shrinking(name), seeds=None) for name in names}
    columns = {"fedavg": ONE_MODEL["fedavg"], **IFCA_FESEM, **MOVING}
    common = {**COMMON, "drift": keys}
    name = f"flexcfl/table4-{drift}"
    return cells_of(name, rows, columns, TABLE4[drift], common, 3, (*EVERYWHERE, *departures))


RATES3 = {"eta_g-0.01": 0.01, "eta_g-1": 1.0}  # of Fig. 3d, beside 0 and 0.1 of Table 3
RATES5 = {"eta_g-0.1": 0.1, "eta_g-1": 1.0, "eta_g-10": 10.0}  # of Fig. 5, beside 0 and 5 of Table 4


def extra(table: str, row: str, columns: dict[str, Column], drift: str = "", seeds: int = 3) -> tuple[Cell, ...]:
    """Cells of a figure that no table has; the paper prints no numbers of them."""
    common, departures = dict(COMMON), (*EVERYWHERE, *(DRIFTS[drift][1] if drift else ()))
    if drift:
        common["drift"] = DRIFTS[drift][0]
    rows = {row: replace(ROWS[row], seeds=seeds)}
    return cells_of(
        table, rows, columns, {row: [None for c in columns.values() if not c.twin]}, common, seeds, departures
    )


def sweep_of(rates: dict[str, float]) -> dict[str, Column]:
    return {name: Column("flexcfl", {"eta_g": rate}, departures=(*GROUPED, "D12")) for name, rate in rates.items()}


MIGRATING = {
    "ifca-mig": Column("ifca", {"migration": "aligned"}, departures=("D13", "D53", "D55"), cost=2.0),
    "ifca-mig-counts": Column(
        "ifca", COUNTS, departures=("D13", "D53", "D55"), twin="ifca-mig", cost=2.0, note=COUNTS_NOTE
    ),
    "fesem-mig": Column("fesem", {**FESEM, "migration": "aligned"}, departures=("D13", "D55", "D88")),
}
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
            extra("flexcfl/fig3", "mnist-mlp", sweep_of(RATES3)),
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
