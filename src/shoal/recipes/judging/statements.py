"""The statements of the papers that our runs can judge, each as a comparison of cells."""

from __future__ import annotations

from shoal.recipes.judging.claims import Relation
from shoal.recipes.judging.statements_code import of_the_code, of_the_data
from shoal.recipes.judging.statements_drift import drift
from shoal.recipes.judging.statements_fedgroup import fedgroup
from shoal.recipes.judging.statements_fedgsp import fedgsp
from shoal.recipes.judging.statements_fig3 import figure3
from shoal.recipes.judging.statements_fig56 import figures56
from shoal.recipes.judging.statements_flexcfl import flexcfl
from shoal.recipes.judging.statements_more import cfl, wecfl
from shoal.recipes.judging.statements_table1 import table1

STATEMENTS: tuple[Relation, ...] = (
    *(*table1(), *fedgroup(), *flexcfl(), *figure3(), *of_the_code(), *of_the_data()),
    *(*drift(), *figures56(), *cfl(), *wecfl(), *fedgsp()),
)

__all__ = ["STATEMENTS"]
