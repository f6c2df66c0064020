"""Statements of CFL, WeCFL and FedGSP, each as a comparison of cells."""

from __future__ import annotations

from typing import Any

from shoal.recipes.comparing import ABOVE, BELOW
from shoal.recipes.relations import Relation
from shoal.recipes.wecfl_figures import SPREADS

LAST: dict[str, Any] = {"quantity": "last_three_accuracy"}
ARI: dict[str, Any] = {"quantity": "ari", "scale": 1}


def cfl() -> list[Relation]:
    """What CFL's paper and notebook say."""
    fig3, note = "cfl/fig3/wecfl-cifar", "cfl/notebook/rotated"
    found = []
    for column, words in (("split-rounds", "with the paper's rounds of splits"), ("default", "with Shoal's own rule")):
        cells: dict[str, Any] = {"left": (f"{fig3}/{column}",), "right": (f"{fig3}/fedavg",)}
        own = column == "default"
        found += [
            Relation(
                f"cfl/doubles-{column}",
                f"accuracy at least doubles against one model, {words}",
                "section 4",
                **cells,
                **LAST,
                ratio=True,
                least=2,
                ours=own,
            ),
            Relation(
                f"cfl/exact-{column}",
                f"the four groups are found exactly, {words}",
                "Fig. 3",
                (f"{fig3}/{column}",),
                least=1,
                **ARI,
                ours=own,
            ),
            Relation(
                f"cfl/sixty-{column}",
                f"every client comes close to 60 %, {words}",
                "Fig. 3",
                (f"{fig3}/{column}",),
                least=55,
                **LAST,
                ours=own,
                cause="the setting",
                why="LeNet overfits 2,500 images a client here; the paper's network and learning rate are not known.",
            ),
        ]
    return [
        *found,
        Relation(
            "cfl/notebook-gain",
            "the notebook's split gains about ten points",
            "notebook",
            (f"{note}/authors",),
            (f"{note}/never",),
            least=8,
            **LAST,
        ),
        Relation(
            "cfl/notebook-default",
            "Shoal's own rule gains as much",
            "ours",
            (f"{note}/default",),
            (f"{note}/authors",),
            least=-1,
            **LAST,
            ours=True,
        ),
        Relation(
            "cfl/notebook-reset",
            "without the momentum that clients keep, the authors' thresholds never split",
            "an earlier trial of ours",
            (f"{note}/authors-reset",),
            most=1,
            quantity="groups",
            scale=1,
            ours=True,
            cause="the setting",
            why="The earlier trial was one draw of the data; five other draws differ among themselves, see the splits "
            "of `authors-reset`.",
        ),
        Relation(
            "cfl/notebook-exact",
            "Shoal's own rule finds the two halves exactly",
            "ours",
            (f"{note}/default",),
            least=1,
            **ARI,
            ours=True,
        ),
    ]


def wecfl() -> list[Relation]:
    """What WeCFL says of Tables 2 and 5."""
    found: list[Relation] = []
    gains = {"fmnist": 5, "cifar": 25}
    for kind in ("fmnist-dirichlet", "fmnist-classes", "cifar-dirichlet", "cifar-classes"):
        table, data = f"wecfl/table2-{kind}", kind.split("-")[0]

        def one(name: str, says: str, left: str, right: str, kind: str = kind, table: str = table, **more: Any) -> None:
            found.append(
                Relation(
                    f"wecfl/{name}-{kind}",
                    f"{kind}: {says}",
                    "Table 2" if right else "Figs. 7, 8",
                    (f"{table}/{left}",),
                    (f"{table}/{right}",) if right else (),
                    **{**LAST, **more},
                )
            )

        one("fedavg", "WeCFL with K = 10 is far above FedAvg", "k10/wecfl", "k1/fedavg", least=gains[data])
        one("fesem", "WeCFL is not below FeSEM, K = 10", "k10/wecfl", "k10/fesem", least=0)
        one("ifca", "IFCA is below WeCFL, K = 10", "k10/ifca", "k10/wecfl", most=-2)
        ifca, ours = SPREADS[kind]
        unstable = "IFCA is unstable: its accuracy varies more over seeds than WeCFL's, K = 10"
        one("ifca-spread", unstable, "k10/ifca", "k10/wecfl", **ABOVE, spread=True, printed=round(ifca - ours, 2))
        one("more-k", "K = 10 is better than K = 5 for WeCFL", "k10/wecfl", "k5/wecfl", **ABOVE)
        one("more-k-fesem", "K = 10 is better than K = 5 for FeSEM", "k10/fesem", "k5/fesem", **ABOVE)
        one("ensemble", "an ensemble of ten gains little over FedAvg", "k10/fedavg+", "k1/fedavg", least=-1, most=6)
        one("ari", "WeCFL with K = 10 finds the planted clusters", "k10/wecfl", "", least=0.9, **ARI)
    return [*found, *cosines("wecfl/table2-fmnist-dirichlet/k10/wecfl")]


def cosines(cell: str) -> list[Relation]:
    """What Fig. 4 shows, of a federation and a round that the paper does not name; bounds are ours."""
    return [
        Relation(
            "wecfl/cosines-within",
            "clients of a cluster have cosines above 0.999",
            "Fig. 4",
            (cell,),
            least=0.999,
            quantity="least_cosine_within",
            scale=1,
        ),
        Relation(
            "wecfl/cosines-between",
            "centroids of clusters have cosines around 0.93",
            "Fig. 4",
            (cell,),
            least=0.88,
            most=0.98,
            quantity="mean_cosine_between",
            scale=1,
        ),
    ]


def fedgsp() -> list[Relation]:
    """What FedGSP says of Table 1 and Figs. 3 to 5."""
    table = "fedgsp/table1/small"
    others = ("fedprox", "fedmmd", "fedfusion", "ida", "fedadagrad", "fedadam", "fedyogi")
    seven = tuple(f"{table}/{method}" for method in others)
    rounds: dict[str, Any] = {"quantity": "rounds_to_80", "scale": 1, "ratio": True}
    loss: dict[str, Any] = {"quantity": "best_test_loss", "scale": 1}
    gsp = (f"{table}/fedgsp",)
    return [
        Relation("fedgsp/fedavg", "FedGSP is 5.3 points above FedAvg", "4.2", gsp, (f"{table}/fedavg",), least=3),
        Relation("fedgsp/seven", "3.7 above the mean of seven others", "4.2", gsp, seven, least=1),
        Relation("fedgsp/seven-loss", "its loss is 0.123 lower than theirs", "4.2", gsp, seven, most=-0.05, **loss),
        *(
            Relation(f"fedgsp/above-{m}", f"FedGSP is above {m}", "Table 1", gsp, (f"{table}/{m}",), **ABOVE)
            for m in others
        ),
        Relation(
            "fedgsp/rounds",
            "FedGSP reaches 80 % in at most a quarter of FedAvg's rounds",
            "Table 1",
            gsp,
            (f"{table}/fedavg",),
            most=0.25,
            **rounds,
        ),
        Relation(
            "fedgsp/by-34",
            "FedGSP reaches 80 % by round 34 with the paper's network",
            "4.2",
            ("fedgsp/table1/leaf-34/fedgsp",),
            least=80,
        ),
        Relation(
            "fedgsp/time",
            "FedGSP spends 93 % less time on communication until 80 %",
            "Fig. 6",
            gsp,
            (f"{table}/fedavg",),
            most=0.25,
            quantity="t_comm_to_80",
            scale=1,
            ratio=True,
        ),
        Relation(
            "fedgsp/naive",
            "NaiveGSP ends about where FedAvg does",
            "Fig. 3b",
            (f"{table}/naivegsp",),
            (f"{table}/fedavg",),
            least=-2,
            most=2,
            cause="the setting",
            why="Chains alone bring most of the gain here: 52 chains of seven writers each, a fixed order (D67).",
        ),
        Relation(
            "fedgsp/icg",
            "ICG adds 6 points to NaiveGSP",
            "Fig. 3b",
            (f"{table}/naivegsp+icg",),
            (f"{table}/naivegsp",),
            least=3,
            cause="the setting",
            why="Random groups of seven writers are already much alike on this data: see the page of ICG.",
        ),
        Relation(
            "fedgsp/overfits",
            "the loss of NaiveGSP+ICG rises late, that of FedGSP does not: it ends lower",
            "Fig. 3c",
            gsp,
            (f"{table}/naivegsp+icg",),
            **BELOW,
            quantity="last_test_loss",
            scale=1,
        ),
        Relation(
            "fedgsp/kappa",
            "a tenth of the groups is as good as all of them",
            "Fig. 5a",
            ("fedgsp/fig5/writers-100/kappa-0.1",),
            ("fedgsp/fig5/writers-100/kappa-1.0",),
            least=-2,
            most=2,
        ),
        Relation(
            "fedgsp/kappa-comm",
            "T_comm is proportional to kappa",
            "Fig. 5c",
            ("fedgsp/fig5/writers-100/kappa-1.0",),
            ("fedgsp/fig5/writers-100/kappa-0.5",),
            quantity="t_comm",
            scale=1,
            ratio=True,
            least=1.8,
            most=2.2,
        ),
        Relation(
            "fedgsp/too-fast",
            "too fast growth has a higher loss (log, alpha 4, beta 10 against alpha 2, beta 3)",
            "Fig. 4",
            ("fedgsp/fig4/log/alpha-4-beta-10",),
            ("fedgsp/fig4/log/alpha-2-beta-3",),
            **ABOVE,
            **loss,
        ),
    ]
