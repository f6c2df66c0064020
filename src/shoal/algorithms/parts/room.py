"""Tables with a vector for each client, which must fit into the server's memory."""

from __future__ import annotations

from shoal.errors import BadInput
from shoal.types import Engine


def check_room(method: str, what: str, engine: Engine, limit: float) -> None:
    """A sentence before the run if a table with a vector of every client would be too large.

    Args:
        method: Its name.
        what: The vectors: models, updates.
        engine: Of the run.
        limit: Bytes that the table may have: the option `table_limit`.
    """
    clients, layout = len(engine.clients), engine.layout
    need = clients * layout.bytes
    if need > limit:
        raise BadInput(
            f"{method} would keep {clients:,} {what} of {layout.size:,} numbers, {need / 1e9:.1f} GB; "
            f"use fewer clients or raise table_limit ({limit / 1e9:.1f} GB)"
        )
