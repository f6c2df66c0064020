"""The engine: what algorithms call. It asks clients through a back end, judges every answer and counts what travels."""

from shoal.engine.engine import Engine
from shoal.engine.ledger import Count, Ledger

__all__ = ["Count", "Engine", "Ledger"]
