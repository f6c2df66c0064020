"""Long vectors that the server keeps per client, of which a round changes a few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shoal.types import Array, Cohort

__all__ = ["Vectors"]


@dataclass(frozen=True)
class Vectors:
    """Client ids to long vectors, such as whole models. Immutable: `put` gives new ones, which share what stays.

    A `Table` would be copied as a whole by every `put`: with a thousand models that takes longer than a round.

    Args:
        by_client: An array of its own for each client.

    >>> old = Vectors().put(("ann", "bob"), np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> new = old.put(("bob",), np.array([[5.0, 6.0]]))
    >>> new.get(("bob", "zoe"), 0.0).tolist(), old.get(("bob",), 0.0).tolist()
    ([[5.0, 6.0], [0.0, 0.0]], [[3.0, 4.0]])
    """

    by_client: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_client)

    def __contains__(self, client: object) -> bool:
        return client in self.by_client

    def put(self, ids: Cohort, rows_ND: Array) -> Vectors:
        """These too, newer ones in place of older ones.

        Args:
            ids: N clients.
            rows_ND: N vectors, which are copied.

        Returns:
            New vectors.
        """
        return Vectors({**self.by_client, **{name: row_D.copy() for name, row_D in zip(ids, rows_ND, strict=True)}})

    def get(self, ids: Cohort, default: Array | float) -> Array:
        """One vector per id, as a `Table` has it; `default` for clients without.

        Args:
            ids: N clients, at least one.
            default: What the others get, a number or a vector.

        Returns:
            N x D.
        """
        like = next(iter(self.by_client.values()), np.asarray(default))
        others_D = np.broadcast_to(np.asarray(default, like.dtype), like.shape)
        return np.stack([self.by_client.get(name, others_D) for name in ids])
