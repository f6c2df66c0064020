"""CFL: Sattler, Mueller, Samek, "Clustered Federated Learning", and the notebook of its authors."""

from __future__ import annotations

from typing import Any

from shoal.recipes.records import VALIDATION, Cell, Panel, Paper, Quantity, Table

LAST = Quantity("last_three_accuracy", "accuracy, last three tests %", 100)
GROUPS = Quantity("groups", "models", digits=1)
ARI = Quantity("ari", "ARI with the planted groups", digits=2)

NOTEBOOK: dict[str, Any] = {
    "data": "femnist:inverted=true",
    "partition": "rotated:2:clients=10:angle=180:dirichlet=1.0:samples=10000",
    "model": "cfl-notebook",
    "val": 1 / 9,  # of nine tenths: eight tenths train, as in the notebook
    "lr": 0.099,  # the notebook's 0.1 decays before the first round
    "lr_decay": 0.99,
    "momentum": 0.9,
    "momentum_memory": "kept",
    "batch": 128,
    "epochs": 1,
    "rounds": 80,
    "aggregate": "plain-mean",
}
AUTHORS = {"criteria": "notebook", "eps1": 0.4, "eps2": 1.6, "bipartition": "complete"}
WAYS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "authors": (AUTHORS, ("D5", "D6"), "thresholds and cut of the notebook, with momentum that clients keep"),
    "authors-reset": (
        {**AUTHORS, "momentum_memory": "reset"},
        ("D5", "D6"),
        "the same with momentum that starts anew in every round",
    ),
    "default": ({}, ("D92", "D93", "D94"), "thresholds and guard that Shoal finds by itself"),
    "never": ({"eps1": 0.0, "eps2": 0.0}, (), "never splits: federated averaging"),
}

RATES = (0.01, 0.03, 0.1)  # of Fig. 3, which the paper does not tell; the notebook has 0.1
RATE = 0.01  # a test asks that it is what `shoal.recipes.judging.choices` finds once all were run
CIFAR: dict[str, Any] = {
    "data": "cifar10",
    "partition": "permuted",
    "rounds": 200,
    "epochs": 3,
    "batch": 100,
    "lr": RATE,
    "selection": "all",
    "eval_every": 5,
}
FIG3: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "split-rounds": ("cfl", {"split_rounds": "50+100+150"}, ("D42",)),
    "default": ("cfl", {}, ("D41", "D92", "D93", "D94")),
    "fedavg": ("fedavg", {}, ()),
}
ROWS: dict[str, tuple[dict[str, Any], float, str]] = {  # keys, minutes of a run, the row that it is a variant of
    "wecfl-cifar": ({"model": "wecfl-cifar"}, 23.0, ""),  # LeNet has five layers, as the paper's network
    "wecfl-cifar-lr0.1": ({"model": "wecfl-cifar", "lr": 0.1}, 23.0, "wecfl-cifar"),
    "cfl-cnn": ({"model": "cfl-cnn"}, 400.0, ""),
}


def notebook() -> tuple[Cell, ...]:
    """The experiment of the notebook, four ways."""
    return tuple(
        Cell(
            "cfl/notebook",
            "rotated",
            way,
            "cfl",
            {**NOTEBOOK, **own},
            seeds=5,
            minutes=0.3,
            departures=departures,
            keeps=("splits",),
            note=note,
        )
        for way, (own, departures, note) in WAYS.items()
    )


def figure3() -> tuple[Cell, ...]:
    """Four permutations of labels on CIFAR-10, with two networks, since the paper does not describe its own."""
    return tuple(
        Cell(
            "cfl/fig3",
            row,
            column,
            algorithm,
            {**CIFAR, **keys, **own},
            seeds=3,
            minutes=minutes,
            departures=("D40", "D79", *departures),
            keeps=("splits", "similarities") if algorithm == "cfl" else ("similarities",),
            note="the learning rate of the notebook" if of else "",
            of=f"cfl/fig3/{of}/{column}" if of else "",
        )
        for row, (keys, minutes, of) in ROWS.items()
        for column, (algorithm, own, departures) in FIG3.items()
    )


def panels_of(row: str) -> tuple[Panel, ...]:
    """Accuracies of all columns, and similarities of the two that split."""
    names = {column: f"cfl/fig3/{row}/{column}" for column in FIG3}
    alike = ("split-rounds", "default")
    return (
        Panel(f"accuracy, {row}", "accuracy", tuple(names.values())),
        *(Panel(f"similarities, {row}, {column}", "similarities", (names[column],)) for column in alike),
    )


def tuning() -> tuple[Cell, ...]:
    """One of the four groups alone, five clients with 2,500 images each; nothing of Fig. 3 is looked at."""
    alone = {"partition": "permuted:1:clients=5:samples=12500", "rounds": 100, "val": 0.1, "model": "wecfl-cifar"}
    return tuple(
        Cell("cfl/tuning", "one-group", f"lr-{rate:g}", "fedavg", {**CIFAR, **alone, "lr": rate}, seeds=1, minutes=3.0)
        for rate in RATES
    )


NOTEBOOK_ABOUT = """Ten clients with 10,000 handwritten characters, labels by Dir(1), the images of five turned by 180
degrees; all take part, 80 rounds. One model cannot read both: CFL should cut the federation in half, and every client
gain about ten points, say the authors of the notebook. As in the notebook: the net (two convolutions and one linear
layer), dark paper as in EMNIST, the plain mean, clients that keep their momentum from round to round, eight tenths of
a client's samples for training, a learning rate that decays before the first round (0.1 x 0.99), complete linkage, no
split up to round 20. Not: the images, LEAF's of the same characters, and the test, a tenth of a client's samples.

Where eps1 and eps2 go on to be asked inside the halves and one client's update is long in a round in which its half
stands still, clients that belong together are cut apart. Shoal's own rule asks whether groups stand apart and leaves
the halves whole; it also needs no rounds to wait, and cuts much earlier."""

PAPER = Paper(
    "cfl",
    "Clustered Federated Learning",
    "Sattler, Müller, Samek; NeurIPS workshop on federated learning 2019, with the notebook of the authors",
    (
        Table(
            "cfl/fig1",
            "Two toys that one model cannot fit",
            panels=(Panel("Federated XOR", "xor"), Panel("Contradicting labels", "contradicting")),
            about="The toys are ours, after the figure: eight clients in two groups. A test trains on both: CFL finds "
            "the groups and fits them, one linear model for all does not.",
            elsewhere="tests/reference/test_toys.py",
        ),
        Table(
            "cfl/fig2",
            "Incongruent and congruent risks",
            panels=(Panel("Incongruent risks", "incongruent"), Panel("Congruent risks", "congruent")),
            about="Ways of federated gradient descent with two clients whose risks have curvatures 1 and 3; arrows are "
            "updates. Congruent risks are both least in the grey area. A test has the closed form.",
            elsewhere="tests/reference/test_toys.py",
        ),
        Table(
            "cfl/fig3",
            "Permuted labels on CIFAR-10, 20 clients in four groups",
            figure3(),
            (LAST, GROUPS, ARI),
            tuple(panel for row in ROWS for panel in panels_of(row)),
            elsewhere="docs/results/earlier.md",
            about="Splits at rounds 50, 100 and 150 as in the figure, and where Shoal's own rule splits. The paper "
            "prints no numbers; its text has around 20 % for one model in round 50, and close to 60 % after splits.",
        ),
        Table(
            "cfl/tuning",
            "The learning rate of Fig. 3, which the paper does not tell",
            tuning(),
            (VALIDATION,),
            about="FedAvg on one of the four groups alone, 100 rounds with a tenth of the training samples set aside, "
            "one seed. Fig. 3 takes the rate of the best validation accuracy, of equals the smallest. It is the "
            "smallest that was tried; one below may be better.",
            trial=True,
        ),
        Table(
            "cfl/notebook",
            "The notebook: 10 clients, five of them with images turned by 180 degrees",
            notebook(),
            (LAST, GROUPS, ARI),
            (Panel("accuracy", "accuracy", tuple(f"cfl/notebook/rotated/{way}" for way in WAYS)),),
            elsewhere="docs/papers-code.md",
            about=NOTEBOOK_ABOUT,
        ),
    ),
)
