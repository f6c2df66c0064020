"""Statements of ours on WeCFL's tables as FedBase, of its first author, plays them; bounds are ours."""

from __future__ import annotations

from typing import Any

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.comparing import ABOVE
from shoal.recipes.judging.statements_wecfl import LAST
from shoal.recipes.papers.wecfl_code import code_of
from shoal.recipes.papers.wecfl_figures import TABLE2

OURS: dict[str, Any] = {"source": "ours, of the code", "ours": True, **LAST}
KINDS = ("cifar-dirichlet", "cifar-classes")
NEAR = 4.0  # points
KNOWN = {"cifar-classes": ", a bound that was set with the first run at hand"}
BEHIND = (
    "In FedBase, the public framework of WeCFL's first author, IFCA's models soon are one object, which all clients "
    "train in turn (D103)."
)


def ifca_here(kind: str) -> dict[str, Any]:
    """Why IFCA is far below WeCFL in the paper and not here; on Fashion-MNIST (3, 2) that is not known."""
    if kind == "fmnist-dirichlet":
        why = "So played, and tested as FedBase tests batch norm (D104), one seed ends near the paper's IFCA."
        return {"cause": "text and code differ", "why": f"{BEHIND} {why}"}
    if kind == "fmnist-classes":
        why = "With one seed that is not enough: tested as FedBase tests batch norm (D104), it ends well above."
        return {"why": f"{BEHIND} {why}"}
    tells = (f"wecfl/ifca-code-{kind}", f"wecfl/ifca-code-far-{kind}")
    return {"cause": "text and code differ", "why": BEHIND, "tells": tells}


def as_the_code() -> list[Relation]:
    """IFCA as FedBase plays it, beside the paper's figures and beside WeCFL."""
    found = []
    for kind in KINDS:
        table = f"wecfl/table2-{kind}"
        printed, above = (TABLE2[kind]["k10"][method][0] for method in ("ifca", "wecfl"))
        known = KNOWN.get(kind, "")
        ifca, wecfl = (code_of(f"{table}/k10/{method}") for method in ("ifca", "wecfl"))
        found += [
            Relation(
                f"wecfl/ifca-code-{kind}",
                f"{kind}: IFCA as in FedBase is within {NEAR:g} points of the paper's {printed}, K = 10{known}",
                left=(ifca,),
                least=printed - NEAR,
                most=printed + NEAR,
                **OURS,
            ),
            Relation(
                f"wecfl/ifca-code-far-{kind}",
                f"{kind}: IFCA as in FedBase is at least {(above - printed) / 2:.0f} points below WeCFL as in FedBase, "
                "K = 10",
                left=(ifca,),
                right=(wecfl,),
                most=-round((above - printed) / 2),
                **OURS,
            ),
            Relation(
                f"wecfl/ifca-code-order-{kind}",
                f"{kind}: IFCA as in FedBase is higher in Table 5 than in Table 2, as in the paper, K = 10",
                left=(code_of(f"wecfl/table5-{kind}/k10/ifca"),),
                right=(ifca,),
                **ABOVE,
                **OURS,
            ),
        ]
    return found
