"""The picture of the first page: the clients of the demo as fish, all together and in their groups.

`python -m tools.site.picture` writes docs/images/shoal.svg; its figures are those of docs/results/demo.json.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "images" / "shoal.svg"
WIDE, HIGH, GAP = 560, 400, 24  # a panel, and the room between the two
COLOURS = ("#ffb454", "#5ad1c8", "#ff7a70", "#c3a6ff")
FISH = "M22 0C14-11-4-12-15-3L-26-10C-23-3-23 3-26 10L-15 3C-4 12 14 11 22 0Z"  # swims to the right, 48 long
CENTRES, HEADINGS = ((150, 165), (420, 160), (150, 312), (420, 312)), (-14, 10, 12, -12)
PLACES = ((-4, 2), (-66, -34), (-72, 34), (52, -40), (60, 36))  # of five fish around the middle of their group
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; fill: #fff }
  .what { font-size: 28px; font-weight: 600 } .share { font-size: 38px; font-weight: 700; text-anchor: end }
  .right { font-size: 26px; font-weight: 500 }
  .swim { animation: swim 5s ease-in-out infinite alternate }
  @keyframes swim { from { transform: translate(-5px, 2px) } to { transform: translate(7px, -3px) } }
  @media (prefers-reduced-motion: reduce) { .swim { animation: none } }
"""


def shares() -> dict[str, float]:
    """The best accuracy of every method of the demo, in percent."""
    lines = json.loads((ROOT / "docs" / "results" / "demo.json").read_text())["comparison"]
    return {line["name"]: 100 * line["figures"]["best_accuracy"]["mean"] for line in lines}


def fish(x: float, y: float, heading: float, colour: str) -> str:
    flip = " scale(1 -1)" if math.cos(math.radians(heading)) < 0 else ""  # never on its back
    eye = '<circle cx="13" cy="-2.5" r="2" fill="#0a2233"/>'
    place = f"translate({x:.0f} {y:.0f}) rotate({heading:.0f}){flip} scale(1.25)"
    return f'<g transform="{place}"><path d="{FISH}" fill="{colour}"/>{eye}</g>'


def apart() -> list[str]:
    """Twenty clients that swim in all directions, none upon another."""
    draw, placed = random.Random(3), list[tuple[float, float]]()
    while len(placed) < len(COLOURS) * len(PLACES):
        x, y = draw.uniform(44, WIDE - 44), draw.uniform(112, HIGH - 40)
        if all(math.hypot(x - a, y - b) > 66 for a, b in placed):
            placed.append((x, y))
    return [fish(*at, draw.uniform(0, 360), COLOURS[i % len(COLOURS)]) for i, at in enumerate(placed)]


def together() -> list[str]:
    """The same clients in their groups."""
    groups: list[str] = []
    for (x, y), heading, colour in zip(CENTRES, HEADINGS, COLOURS, strict=True):
        members = "".join(fish(x + a, y + b, heading, colour) for a, b in PLACES)
        groups.append(f'<g class="swim" style="animation-delay:-{len(groups)}s">{members}</g>')
    return groups


def panel(left: int, what: str, share: float, inside: list[str]) -> list[str]:
    much = f'{share:.0f} %<tspan class="right"> right</tspan>'
    head = f'<text class="what" x="28" y="60">{what}</text><text class="share" x="{WIDE - 28}" y="62">{much}</text>'
    water = f'<rect width="{WIDE}" height="{HIGH}" rx="18" fill="url(#water)"/>'
    return [f'<g transform="translate({left} 0)">', water, head, *inside, "</g>"]


def picture() -> str:
    """The whole picture as SVG."""
    best, width = shares(), 2 * WIDE + GAP
    deep = '<stop offset="0" stop-color="#12608a"/><stop offset="1" stop-color="#0a2c47"/>'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HIGH}" width="{width}" height="{HIGH}">']
    lines += [f"<style>{STYLE}</style>", f'<linearGradient id="water" x2="0" y2="1">{deep}</linearGradient>']
    lines += panel(0, "One model for all", best["fedavg"], apart())
    lines += panel(WIDE + GAP, "A model per group", best["flexcfl"], together())
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    FILE.write_text(picture())
