"""What a federation is, in a line and in a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.show import counted
from shoal.tree import told

if TYPE_CHECKING:
    from shoal.data.federation import Federation


def facts(federation: Federation) -> dict[str, str]:
    """Clients, samples, shape, classes and planted groups of a federation.

    Args:
        federation: In memory.

    Returns:
        Words by what they are about.

    >>> import numpy as np
    >>> from shoal import Federation
    >>> facts(Federation.from_arrays({"ann": (np.eye(4), [0, 1, 0, 1])}, test=0.25))
    {'clients': '1', 'training samples': '3', 'test samples': '1', 'shape': '4', 'classes': '2'}
    """
    f = federation
    found = {"clients": f"{len(f.ids):,}", "training samples": f"{f.train.sizes.sum():,}"}
    found["test samples"] = f"{f.test.sizes.sum():,}"
    if f.val is not None:
        found["validation samples"] = f"{f.val.sizes.sum():,}"
    plain = isinstance(f.shape, tuple) and 0 not in f.shape
    found["shape"] = (" x ".join(map(str, f.shape)) or "one number") if plain else told(f.shape)
    found["target numbers" if f.y.dtype.kind == "f" else "classes"] = f"{f.classes:,}"
    if f.truth is not None:
        found["planted groups"] = f"{len(set(f.truth.tolist())):,}"
    return found


def in_a_line(federation: Federation) -> str:
    """The same in a line.

    >>> import numpy as np
    >>> from shoal import Federation
    >>> in_a_line(Federation.from_arrays({"ann": (np.eye(4), [0, 1, 0, 1])}, test=0.25, name="toy"))
    '<Federation toy: 1 client, 3 training samples, 1 test sample, shape 4, 2 classes>'
    """
    parts = [f"{k} {v}" if k == "shape" else counted(v, k) for k, v in facts(federation).items()]
    return f"<Federation {federation.name}: {', '.join(parts)}>"
