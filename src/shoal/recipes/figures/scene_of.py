"""Which panels are scenes, by what they draw."""

from __future__ import annotations

from collections.abc import Callable

from shoal.recipes.figures.run_scenes import costs, over, similarities, tiles
from shoal.recipes.figures.scenes import Scene
from shoal.recipes.figures.toy_scenes import congruent, contradicting_labels, federated_xor, incongruent
from shoal.recipes.judging.relations import Known
from shoal.recipes.records import Panel

__all__ = ["RUNS", "TOYS", "is_scene", "scene_of"]

RUNS: dict[str, Callable[[Panel, Known], Scene | None]] = {
    "costs": costs,
    "over": over,
    "similarities": similarities,
    "cosines": similarities,
    "tiles": tiles,
}
TOYS: dict[str, Callable[[], Scene]] = {
    "xor": federated_xor,
    "contradicting": contradicting_labels,
    "incongruent": incongruent,
    "congruent": congruent,
}


def is_scene(panel: Panel) -> bool:
    """Whether a panel is one.

    Args:
        panel: Of a figure.

    Returns:
        Not for curves over rounds, traffic and maps.

    >>> is_scene(Panel("XOR", "xor")), is_scene(Panel("accuracy", "accuracy"))
    (True, False)
    """
    return panel.curve in RUNS or panel.curve in TOYS


def scene_of(panel: Panel, known: Known) -> Scene | None:
    """What a panel shows.

    Args:
        panel: One that is a scene.
        known: All cells with what is stored of them; toys need none.

    Returns:
        The scene; None if nothing of it was run.

    >>> scene_of(Panel("XOR", "xor"), {}).labels
    ('x1', 'x2')
    """
    return TOYS[panel.curve]() if panel.curve in TOYS else RUNS[panel.curve](panel, known)
