"""A Markdown extension: `D12`, wherever it stands in prose, leads to the entry of docs/departures.md."""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

NUMBER = r"\bD(\d{1,3})\b"


class Departure(InlineProcessor):  # type: ignore[misc]
    """Turns a number into a link, unless it is one already or stands in a heading."""

    ANCESTOR_EXCLUDES = ("a", "h1", "h2", "h3", "h4", "h5", "h6")

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:
        link = Element("a", {"href": f"/departures.md#d{m[1]}"})  # from the root of the docs; MkDocs makes it relative
        link.text = m[0]
        return link, m.start(0), m.end(0)


class Departures(Extension):  # type: ignore[misc]
    """What `markdown_extensions` of mkdocs.yml names."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(Departure(NUMBER, md), "departure", 15)


def makeExtension(**settings: Any) -> Departures:  # the name is Markdown's
    return Departures(**settings)
