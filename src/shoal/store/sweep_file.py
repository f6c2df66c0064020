"""`sweep.json`: the runs of a sweep, each with the name of its folder. It may come from a stranger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.store.folder import flatten


def is_plain_name(name: Any) -> bool:
    """Whether a text can be the name of a folder inside another one and nothing else.

    >>> [is_plain_name(name) for name in ("fedavg-seed=1", "../escaped", "/etc", "..", "")]
    [True, False, False, False, False]
    """
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}


def runs_of_sweep(folder: Path) -> list[dict[str, Any]]:
    """The runs of a sweep, as its sweep.json lists them."""
    try:
        found: list[dict[str, Any]] = json.loads((folder / "sweep.json").read_text())
        if not found or not all({"name", "algorithm", "pairs"} == set(entry) - {"origins"} for entry in found):
            raise ValueError("it does not list runs")
        for entry in found:
            if not is_plain_name(entry["name"]):
                raise ValueError(f"{entry['name']!r} is not the name of a folder inside it")
    except (OSError, ValueError, TypeError) as e:
        raise RunFolderError(f"{folder / 'sweep.json'} cannot be read: {e}") from e
    return found


def as_asked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a user asked for it: where `auto` chose the algorithm, that and no keys of the algorithm's own.

    Args:
        config: What `Folder.config` gave.

    Returns:
        One level of keys.

    >>> as_asked({"algorithm": "fedprox", "chosen_by": "auto", "rounds": 3, "fedprox": {"mu": 0.1}})
    {'algorithm': 'auto', 'rounds': 3}
    """
    flat, chooser = flatten(config), config.get("chosen_by")
    if chooser is None:
        return flat
    own = config.get(str(config["algorithm"]), {})
    return {**{k: v for k, v in flat.items() if k not in own and k != "chosen_by"}, "algorithm": chooser}
