"""What every method reveals: the fields that leave a client, heard in a short run of each; a table for docs/deploy.md.

`python -m tools.reveals` prints it, `python -m tools.reveals --write` puts it into the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.backends import Outcome, Serial, Unit
from shoal.data.federation import Federation
from shoal.setup.options import own_keys
from shoal.types import Array

PAGE = Path(__file__).parent.parent / "docs" / "deploy.md"
BEGIN, END = "<!-- reveals -->\n", "<!-- end of reveals -->\n"
SIMULATED = ("central",)  # needs all data in one place, so no federation can run it
OWN: dict[str, dict[str, Any]] = {  # so that everything a method does happens within a few rounds
    "cfl": {"split_rounds": "2"},
    "fedgsp": {"beta": 3, "alpha": 1, "kappa": 1},
    "flexcfl": {"migration": "aligned"},
    "flhc": {"rounds_before": 1},
    "given": {"by": "truth"},
    "naivegsp": {"groups": 3, "kappa": 1},
    "naivegsp+icg": {"groups": 3, "kappa": 1},
}


class Listening(Serial):
    """Hears which tasks clients are asked for, one by one.

    >>> Listening().heard
    {}
    """

    holds_data = False

    def __init__(self) -> None:
        super().__init__()
        self.heard: dict[str, tuple[str, ...]] = {}

    def whole_cohort(self, *asked: Any) -> None:
        """One by one."""

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        for unit in units:
            for task in unit.tasks:
                known = self.heard.get(type(task).__name__, ())
                self.heard[type(task).__name__] = (*known, *(f for f in task.fields if f not in known))
        yield from super().run(units, models_KP)


def small_federation() -> Federation:
    """Twelve clients in two planted groups that disagree on the labels."""
    rng = np.random.default_rng(0)
    centres, arrays = 3 * rng.normal(size=(3, 6)), {}
    for i in range(12):
        y = rng.integers(0, 3, 24)
        arrays[f"c{i:02d}"] = ((centres[y] + rng.normal(size=(24, 6))).astype(np.float32), (y + i % 2) % 3)
    tags = {f"c{i:02d}": {"truth": str(i % 2)} for i in range(12)}
    return Federation.from_arrays(arrays, test=0.25, tags=tags)


def revealed(name: str) -> Mapping[str, tuple[str, ...]]:
    """The tasks that a method asks clients for, newcomers and drift included, and the fields that leave.

    Args:
        name: Of the method.

    Returns:
        Fields by the class name of the task.

    >>> revealed("fedavg")
    {'Train': ('update', 'count', 'loss'), 'Evaluate': ('right', 'total', 'loss')}
    """
    own = {"groups": 2, "pretrain_steps": 6, "members": 2}
    keys = {key: value for key, value in own.items() if key in own_keys(name)} | OWN.get(name, {})
    backend = Listening()
    shoal.run(
        name,
        small_federation(),
        "mlp:hidden=4",
        rounds=4,
        engine=backend,
        per_class=False,
        drift="swap-all:0.5+join:0.2@3",
        **keys,
    )
    return backend.heard


def table() -> str:
    """The table of all methods."""
    lines = ["| method | tasks, and the fields of their answers |", "| --- | --- |"]
    for name in ALGORITHMS:
        if name in SIMULATED:
            lines.append(f"| {name} | none: it needs all data in one place |")
            continue
        heard = sorted(revealed(name).items())
        tasks = [f"{task}: {', '.join(fields) or 'nothing'}" for task, fields in heard if task != "Evaluate"]
        lines.append(f"| {name} | {'; '.join(tasks)} |")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str]) -> None:
    made = table()
    if "--write" not in words:
        print(made, end="")
        return
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(head + BEGIN + made + END + rest.partition(END)[2])


if __name__ == "__main__":
    main(sys.argv[1:])
