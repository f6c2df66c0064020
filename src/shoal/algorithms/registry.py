"""The algorithms by name, filled by the declaration on each class: `@algorithm("name", trait=True, ...)`.

Traits say what a method is, so that advice, reports and settings need no names:

* `single_model`, `finds_groups`, `own_models`, `ensemble`: what serves a client;
* `takes_number`: the number of groups is a key, `groups`; `finds_number`: the method can find it by itself;
* `splits`: groups come from splitting larger ones;
* `draws_models`: the models begin at random, so that some may be nobody's choice;
* `serves_when_selected`: a client has a model only after it was selected, or joined everybody before the first round;
* `baseline`: what one compares with, in words; `simulation_only`: not possible where data may not travel;
* `needs_all_clients`: made for full participation; read off the default of `select`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from shoal.errors import BadInput
from shoal.registry import Registry
from shoal.selection import All
from shoal.types import Algorithm


class Algorithms(Registry[type]):
    """The registry of algorithms.

    >>> ALGORITHMS["hypcluster"].__name__, ALGORITHMS.having("splits"), ALGORITHMS.having("needs_all_clients")
    ('IFCA', ('cfl',), ('cfl', 'wecfl'))
    """

    def __getitem__(self, name: str) -> type:
        """The class of this name; a sentence if something else was declared."""
        found = super().__getitem__(name)
        if isinstance(found, type) and issubclass(found, Algorithm) and dataclasses.is_dataclass(found):
            return found
        needed = "a dataclass that derives from shoal.types.Algorithm"
        raise BadInput(f"what is declared as the algorithm {name!r} is not {needed}")

    def traits(self, name: str) -> Mapping[str, Any]:
        """What was declared beside the name, and whether everybody takes part unless told otherwise."""
        everybody = any(f.name == "select" and f.default == All() for f in dataclasses.fields(self[name]))
        return {"needs_all_clients": everybody, **super().traits(name)}


algorithm = ALGORITHMS = Algorithms("algorithm", home="shoal.algorithms")
