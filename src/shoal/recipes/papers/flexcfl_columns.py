"""Rows and columns of FlexCFL's tables and figures."""

from __future__ import annotations

from dataclasses import replace

from shoal.recipes.papers.duan import (
    DITTO,
    FIRST_NOTE,
    LETTERS,
    MILD,
    MILD_NOTE,
    MNIST,
    SAME_IMAGES,
    SENT140,
    SHARED_NOTE,
    SYNTHETIC,
    Column,
    Row,
)

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
    "mnist-cnn": Row({**MNIST, "model": "mnist-cnn"}, minutes=30, departures=("D73",)),
    "femnist-mclr": Row({**LETTERS, **L2, "model": "femnist-mclr-10"}, minutes=0.1, departures=("D24",)),
    "femnist-mclr-shared": Row(
        {**SAME_IMAGES, **L2, "model": "femnist-mclr-10"}, minutes=0.1, note=SHARED_NOTE, twin="femnist-mclr"
    ),
    "femnist-mlp": Row({**LETTERS, **L2, "model": "femnist-mlp-10"}, minutes=1, departures=("D24",)),
    "femnist-mlp-shared": Row(
        {**SAME_IMAGES, **L2, "model": "femnist-mlp-10"}, minutes=1, note=SHARED_NOTE, twin="femnist-mlp"
    ),
    "femnist-cnn": Row({**LETTERS, **L2, "model": "femnist-cnn"}, minutes=115, departures=("D24",)),
    "synthetic": Row({**SYNTHETIC, **L2, "model": "synthetic-mclr"}, minutes=0.1, departures=("D96",)),
    "fashion-mnist-cnn": Row({**DITTO, "model": "fmnist-cnn"}, minutes=90, departures=("D97",)),
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
SAMPLES_NOTE = "clients of a group are averaged by samples, as FedAvg does"
BY_SAMPLES = {  # of the rows that the paper's remark on it is asked of
    f"{name}-samples": replace(
        IFCA_FESEM[name], keys={**IFCA_FESEM[name].keys, "weighting": "samples"}, twin=name, note=SAMPLES_NOTE
    )
    for name in ("ifca", "fesem")
}
REMARKED = ("mnist-mclr", "mnist-mlp", "femnist-mclr", "synthetic")
BEGUN_APART = {  # of Synthetic alone
    f"{name}-directions": replace(
        column,
        keys={**column.keys, "init": "directions"},
        twin="fesem",
        note="centres begin with the directions of updates, Shoal's default",
    )
    for name, column in IFCA_FESEM.items()
    if column.algorithm == "fesem"
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
IN_CODE: dict[str, tuple[str, str, str]] = {  # drifts as the authors' code plays them: end of a row's name, keys, note
    "swap-part": (
        "early-end",
        "swap-part:0.05:early_end=true",
        "the first pair that cannot swap ends the swaps of a round, as in the authors' code (D21)",
    ),
    "incremental": (
        "shrinking",
        "incremental:shrinking=true:cold_start_on_full_data=true",
        "data shrink, and the cold start sees all of them, as in the authors' code (D22, D23)",
    ),
}


def rows_in_code(drift: str) -> dict[str, Row]:
    """Some rows under a drift as the authors' code plays it; none where it plays it as the text says."""
    if drift not in IN_CODE:
        return {}
    end, keys, said = IN_CODE[drift]
    found = {}
    for name in ("mnist-mclr", "mnist-mlp", "femnist-mclr-shared", "femnist-mlp-shared"):
        row = ROWS[name]
        note = "; ".join(filter(None, (row.note, said)))
        found[f"{name}-{end}"] = replace(row, keys={**row.keys, "drift": keys}, note=note, twin=row.twin or name)
    return found


RATES3 = {"eta_g-0.01": 0.01, "eta_g-1": 1.0}  # of Fig. 3d, beside 0 and 0.1 of Table 3
RATES5 = {"eta_g-0.1": 0.1, "eta_g-1": 1.0, "eta_g-10": 10.0}  # of Fig. 5, beside 0 and 5 of Table 4


def sweep_of(rates: dict[str, float]) -> dict[str, Column]:
    return {name: Column("flexcfl", {"eta_g": rate}, departures=(*GROUPED, "D12")) for name, rate in rates.items()}


PRINTED = {
    "eta_g-0.1-printed": Column(
        "flexcfl", {"eta_g": 0.1, "inter_group": "paper"}, departures=GROUPED, note="the formula as printed (D12)"
    )
}
MIGRATING = {
    "ifca-mig": Column("ifca", {"migration": "aligned"}, departures=("D13", "D53", "D55"), cost=2.0),
    "ifca-mig-counts": Column(
        "ifca", COUNTS, departures=("D13", "D53", "D55"), twin="ifca-mig", cost=2.0, note=COUNTS_NOTE
    ),
    "ifca-mig-first": Column(
        "ifca",
        {"migration": "aligned", "weighting": "first"},
        departures=("D53", "D55", "D87"),
        twin="ifca-mig",
        cost=2.0,
        note=FIRST_NOTE,
    ),
    "ifca-mig-first-counts": Column(
        "ifca",
        {**COUNTS, "weighting": "first"},
        departures=("D53", "D55", "D87"),
        twin="ifca-mig",
        cost=2.0,
        note=f"{FIRST_NOTE}; {COUNTS_NOTE}",
    ),
    "fesem-mig": Column("fesem", {**FESEM, "migration": "aligned"}, departures=("D13", "D55", "D88")),
}
