"""Real federations on Flower: the same algorithms and tasks, sent as messages. Needs `pip install 'shoal[flower]'`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.flower.client import client_app
    from shoal.flower.server import server_app

__all__ = ["client_app", "server_app"]


def __getattr__(name: str) -> Any:
    """An app, imported when it is asked for: that of a site must not bring torch."""
    if name not in __all__:
        raise AttributeError(f"module 'shoal.flower' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"shoal.flower.{name.partition('_')[0]}"), name)
