"""Recipes of the papers' tables and figures: what they report, how to run it here, and what our runs gave."""

from __future__ import annotations

from shoal.recipes import fedgroup, flexcfl
from shoal.recipes.records import Cell, Panel, Paper, Quantity, Table

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (fedgroup.PAPER, flexcfl.PAPER)}

__all__ = ["PAPERS", "Cell", "Panel", "Paper", "Quantity", "Table"]
