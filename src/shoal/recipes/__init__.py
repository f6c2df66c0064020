"""Recipes of the papers' tables and figures: what they report, how to run it here, and what our runs gave."""

from __future__ import annotations

from shoal.recipes.papers import cfl, fedgroup, fedgsp, flexcfl, wecfl
from shoal.recipes.records import Cell, Panel, Paper, Quantity, Table

PAPERS: dict[str, Paper] = {module.PAPER.name: module.PAPER for module in (fedgroup, flexcfl, cfl, wecfl, fedgsp)}

__all__ = ["PAPERS", "Cell", "Panel", "Paper", "Quantity", "Table"]
