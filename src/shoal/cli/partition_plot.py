"""Pictures of a split made of characters: who has which classes, and how many samples. Readable without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from shoal.seeds import Key

if TYPE_CHECKING:
    from shoal.types import Array

SHADES, PLAIN_SHADES = " ░▒▓█", " .:*#"
COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")
LIMITS = (0.05, 0.2, 0.5)  # shares from which a shade is darker
MOST_ROWS = 40
DOUBLING = 20  # from this ratio of the largest to the smallest client on


@dataclass(frozen=True)
class Row:
    """One client, or several put together: its label, planted group, mean size and share of each class."""

    label: str
    group: int | None
    size: float
    share_C: Array


def rows_of(ids: Sequence[str], counts_NC: Array, groups: Sequence[int] | None, most: int = MOST_ROWS) -> list[Row]:
    """A row per client; of many clients the means of neighbours in a planted group, or else single ones here and there.

    >>> rows = rows_of(["a", "b", "c"], np.array([[1, 1], [2, 0], [0, 4]]), [0, 0, 1], most=2)
    >>> [(r.label, r.group, r.share_C.round(2).tolist()) for r in rows]
    [('a..b', 0, [0.75, 0.25]), ('c', 1, [0.0, 1.0])]
    """
    share_NC = counts_NC / np.maximum(counts_NC.sum(1, keepdims=True), 1)
    size_N = counts_NC.sum(1)
    width = max(1, -(-len(ids) // most))
    if groups is None:
        chosen = Key(0)("picture").rng().permutation(len(ids))[:most]  # evenly spaced ones could all be alike
        return [Row(ids[i], None, float(size_N[i]), share_NC[i]) for i in np.sort(chosen)]
    truth, found = np.asarray(groups), []
    for group in np.unique(truth):
        members = np.flatnonzero(truth == group)
        for start in range(0, len(members), width):
            bin_ = members[start : start + width]
            label = ids[bin_[0]] if len(bin_) == 1 else f"{ids[bin_[0]]}..{ids[bin_[-1]]}"
            found.append(Row(label, int(group), float(size_N[bin_].mean()), share_NC[bin_].mean(0)))
    return found


def shade(share: float, shades: str) -> str:
    """The character of a share; a class that is there at all is never blank.

    >>> "".join(shade(s, " .:*#") for s in (0, 0.01, 0.1, 0.3, 1))
    ' .:*#'
    """
    return shades[0] if share <= 0 else shades[1 + sum(share >= limit for limit in LIMITS)]


def distribution(rows: Sequence[Row], room: int, shades: str = SHADES) -> list[Text]:
    """The label distribution: rows of clients, columns of classes, darker where a class is a larger share."""
    classes = len(rows[0].share_C)
    name = min(16, max(len("client"), *(len(r.label) for r in rows)))
    grouped = rows[0].group is not None
    left = name + 8 + (7 if grouped else 0)
    wide = 2 if left + 2 * classes <= room else 1
    fold = max(1, -(-classes // max(1, room - left)))  # classes put together where the line is too short for all
    heads = [f"{k:<{wide}}" if wide == 2 and classes <= 100 else str(k % 10) for k in range(0, classes, fold)]
    first = f"{'client':<{name}} {'size':>6} " + ("group  " if grouped else "") + "".join(heads)
    lines = [Text(first, style="bold")]
    for row in rows:
        label = row.label if len(row.label) <= name else row.label[: name - 1] + "~"
        line = Text(f"{label:<{name}} {row.size:>6.0f} " + (f"{row.group:>5}  " if grouped else ""))
        shares = [row.share_C[k : k + fold].sum() for k in range(0, classes, fold)]
        colour = COLOURS[(row.group or 0) % len(COLOURS)]
        line.append("".join(shade(s, shades) * wide for s in shares), style=colour)
        lines.append(line)
    return lines


def legend(shades: str = SHADES) -> str:
    """What the shades mean."""
    parts = [f"{shade} from {100 * limit:.0f} %" for shade, limit in zip(shades[2:], LIMITS, strict=True)]
    return f"share of a client's samples:  {shades[1]} some  " + "  ".join(parts)


def histogram(sizes: Array, bins: int = 8, room: int = 40, full: str = "█") -> list[str]:
    """How many clients have how many samples; where a few have many times more, in steps that double.

    >>> histogram(np.array([1, 1, 1, 9]), bins=2, room=6, full="#")
    ['1-5  ###### 3', '6-9  ## 1']
    """
    low, high = int(sizes.min()), int(sizes.max())
    step = max(1, -(-(high - low + 1) // bins))
    starts = list(range(low, high + 1, step))
    if high >= DOUBLING * max(low, 1):
        starts = [max(low, 1) * 2**i for i in range(64) if max(low, 1) * 2**i <= high]
        starts = [0, *starts] if low == 0 else starts
    ends = [*(s - 1 for s in starts[1:]), high]
    counts = [int(((sizes >= s) & (sizes <= e)).sum()) for s, e in zip(starts, ends, strict=True)]
    labels = [f"{s}-{e}" if e > s else str(s) for s, e in zip(starts, ends, strict=True)]
    width = max(map(len, labels))
    bars = [full * max(1 if n else 0, round(room * n / max(counts))) for n in counts]
    return [f"{label:<{width}}  {bar} {n}" for label, bar, n in zip(labels, bars, counts, strict=True)]
