"""Statements of WeCFL's figures and of its Table 5, each as a comparison of cells."""

from __future__ import annotations

from typing import Any

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.comparing import ABOVE, BELOW
from shoal.recipes.papers.wecfl import IFCAS
from shoal.recipes.papers.wecfl_figures import TABLE2

LAST: dict[str, Any] = {"quantity": "last_three_accuracy"}
ARI: dict[str, Any] = {"quantity": "ari", "scale": 1}
FMNIST, CIFAR = "wecfl/table2-fmnist-dirichlet", "wecfl/table2-cifar-dirichlet"
DRAWN: dict[str, dict[str, Any]] = {
    "cifar-dirichlet": {
        "cause": "the setting",
        "why": "Draws differ: in that of seed 0 one of the 200 clients has labels that are nearer to the mean of "
        "another planted cluster than to that of its own, in that of seed 1 two planted clusters have nearly the same "
        "classes. One or two clients in another cluster are what an ARI of 0.99 or 0.98 means.",
    }
}
PAIRS = ("fmnist-dirichlet", "fmnist-classes", "cifar-dirichlet", "cifar-classes")


def clusterings() -> list[Relation]:
    """What Figs. 5, 7 and 8 show of the clusters; of (3, 2) classes the paper shows none."""
    exact = [
        one
        for kind, source, cell in (
            ("fmnist-dirichlet", "section B.2, Fig. 7", "wecfl/fig7/k10/wecfl"),
            ("cifar-dirichlet", "section 8.3, Fig. 5", "wecfl/fig5/k10/wecfl"),
        )
        for one in (
            Relation(
                f"wecfl/ari-{kind}",
                f"{kind}: WeCFL with K = 10 learns the planted clusters perfectly in five rounds",
                source,
                (cell,),
                least=1,
                quantity="ari_by_5",
                scale=1,
                **DRAWN.get(kind, {}),
            ),
            Relation(
                f"wecfl/ari-3-{kind}",
                f"{kind}: by round 3 its clusters agree with the planted ones, ARI at least 0.9",
                "ours",
                (cell,),
                least=0.9,
                quantity="ari_by_3",
                scale=1,
                ours=True,
            ),
        )
    ]
    return [
        *exact,
        Relation(
            "wecfl/one-round",
            "fmnist-dirichlet: with K = 10 one communication round is enough",
            "section B.2, Fig. 7",
            ("wecfl/fig7/k10/wecfl",),
            least=1,
            quantity="ari_by_1",
            scale=1,
        ),
        Relation(
            "wecfl/three-rounds",
            "fmnist-dirichlet: with K = 3 every planted cluster lies in one cluster after three rounds",
            "section B.2, Fig. 8",
            ("wecfl/fig7/k3/wecfl",),
            least=1,
            quantity="whole_in_round_3",
            scale=1,
        ),
        *(
            Relation(
                f"wecfl/settled-{kind}",
                f"{kind}: clusters of WeCFL with K = 10 are settled in round 10 (their ARI moves by 0.01 at most)",
                "section 8.3",
                (f"wecfl/table2-{kind}/k10/wecfl",),
                most=0.01,
                quantity="ari_moves",
                scale=1,
            )
            for kind in PAIRS
        ),
    ]


def other_ifcas() -> list[Relation]:
    """Of a trial before FedBase was read: that no other IFCA is as low as the paper's, but with two models."""
    printed = TABLE2["cifar-classes"]["k10"]["ifca"][0]
    own: dict[str, Any] = {"source": "ours", "ours": True, **LAST}
    return [
        Relation(
            "wecfl/ifca-otherwise",
            "cifar-classes: IFCA of one step a round, from one model or of the first client's update alone is at least "
            f"10 points above the paper's IFCA ({printed}), K = 10",
            left=tuple(f"wecfl/ifca/k10/{column}" for column in IFCAS),
            over="least",
            least=printed + 10,
            **own,
        ),
        Relation(
            "wecfl/ifca-two",
            f"cifar-classes: IFCA with two models in place of ten is within 8 points of the paper's ({printed}), a "
            "bound that was set with the run at hand",
            left=("wecfl/ifca/k2/ifca",),
            least=printed - 8,
            most=printed + 8,
            **own,
        ),
    ]


def convergence() -> list[Relation]:
    """What Figs. 2 and 3 show of accuracy over rounds; bounds are ours."""
    table = "wecfl/table2-cifar-classes/k10"
    every = ("wecfl/fig3/k3/wecfl", f"{FMNIST}/k5/wecfl", f"{FMNIST}/k10/wecfl", "wecfl/fig3/k20/wecfl")
    return [
        Relation(
            "wecfl/fastest",
            "cifar-classes: WeCFL with K = 10 converges faster than IFCA and FeSEM (mean accuracy of the first third)",
            "section 8.2, Fig. 2",
            (f"{table}/wecfl",),
            (f"{table}/ifca", f"{table}/fesem"),
            over="largest",
            **ABOVE,
            quantity="early_accuracy",
        ),
        Relation(
            "wecfl/larger-k",
            "fmnist-dirichlet: K = 20 is better than K = 3",
            "section 8.2, Fig. 3",
            (every[-1],),
            (every[0],),
            **LAST,
            **ABOVE,
        ),
        Relation(
            "wecfl/every-k",
            "fmnist-dirichlet: WeCFL converges with every K of 3, 5, 10, 20: it ends within 2 points of its best",
            "section 8.2, Fig. 3",
            every,
            over="largest",
            most=2,
            quantity="below_best",
        ),
    ]


def cosines(cell: str) -> list[Relation]:
    """What Fig. 4 shows, of a federation, a cluster and a round that the paper does not name; bounds are ours."""
    one: dict[str, Any] = {"left": (cell,), "scale": 1}
    own: dict[str, Any] = {**one, "source": "ours", "ours": True}
    around: dict[str, Any] = {"least": 0.88, "most": 0.98}
    return [
        Relation(
            "wecfl/cosines-within",
            "clients of a cluster have cosines above 0.999 with each other; with their mean they are at least as "
            "near then, which is asked of all 200",
            "Fig. 4",
            **one,
            least=0.999,
            quantity="least_cosine_within",
        ),
        Relation(
            "wecfl/cosines-within-mean",
            "on average clients have a cosine of at least 0.99975 with the mean of their cluster",
            **own,
            least=0.99975,
            quantity="mean_cosine_within",
        ),
        Relation(
            "wecfl/cosines-between",
            "centroids of clusters have cosines around 0.93",
            "Fig. 4",
            **one,
            **around,
            quantity="mean_cosine_between",
            why="The paper does not name the round. Asked is the last one of which cosines are kept; centroids move "
            "apart as they train, and had that cosine early, when clients were not yet as near to each other.",
            tells=("wecfl/cosines-between-5", "wecfl/cosines-within-5"),
        ),
        Relation(
            "wecfl/cosines-between-5",
            "in round 5, that of Fig. 5, centroids of clusters have cosines around 0.93",
            **own,
            **around,
            quantity="cosine_between_in_round_5",
        ),
        Relation(
            "wecfl/cosines-within-5",
            "in round 5 clients have cosines of at least 0.999 with the mean of their cluster",
            **own,
            least=0.999,
            quantity="least_cosine_in_round_5",
        ),
    ]


def table5() -> list[Relation]:
    """What is said of clients without planted clusters."""
    found = []
    for kind in PAIRS:
        table = f"wecfl/table5-{kind}"
        for name, says, left, right, bounds in (
            ("fedavg", "WeCFL with K = 10 is above FedAvg", "k10/wecfl", "k1/fedavg", ABOVE),
            ("fesem", "WeCFL is not below FeSEM, K = 10", "k10/wecfl", "k10/fesem", {"least": 0}),
            ("ifca", "IFCA is below WeCFL, K = 10", "k10/ifca", "k10/wecfl", BELOW),
            ("more-k", "K = 10 is better than K = 5 for WeCFL", "k10/wecfl", "k5/wecfl", ABOVE),
            ("more-k-fesem", "K = 10 is better than K = 5 for FeSEM", "k10/fesem", "k5/fesem", ABOVE),
        ):
            found.append(
                Relation(
                    f"wecfl/table5-{name}-{kind}",
                    f"{kind}, no planted clusters: {says}",
                    "section B.2, Table 5",
                    (f"{table}/{left}",),
                    (f"{table}/{right}",),
                    terms="50 clients in place of 200",
                    **LAST,
                    **bounds,
                )
            )
    return found
