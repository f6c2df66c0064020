"""The navigation: the headings and links of docs/README.md below the mark `<!-- pages -->`, in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tools.site.links import target

MARK = "<!-- pages -->"
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#]+\.(?:md|ipynb))\)")
Nav = list[Any]  # of MkDocs: pages, and {title: page or Nav}


def navigation(index: str, below: Mapping[str, Nav] | None = None) -> Nav:
    """Tabs from `##`, groups from `###`, pages from links; a page stands where it is named first.

    A page is called what its link says, or what it calls itself where the link is a number. `below` has pages
    that stand below another one.

    >>> index = "<!-- pages -->\\n## A\\n[x](x.md) [0001](1.md)\\n### B\\n[y](n/y.ipynb)\\n## C\\n[z](../CHANGELOG.md)"
    >>> home, a, c = navigation(index)
    >>> a, c
    ({'A': [{'x': 'x.md'}, '1.md', {'B': [{'y': 'n/y.md'}]}]}, {'C': [{'z': 'changelog.md'}]})
    """
    tabs: Nav = [{"Home": "README.md"}]
    seen = {"README.md"}
    for tab in sections(index.partition(MARK)[2], "## "):
        pages = named(re.split(r"^### ", tab[1], flags=re.MULTILINE)[0], seen)
        pages += [{group: found} for group, text in sections(tab[1], "### ") if (found := named(text, seen))]
        tabs.append({tab[0]: [folded(page, below or {}) for page in pages]})
    return tabs


def folded(entry: Any, below: Mapping[str, Nav]) -> Any:
    """An entry with the pages that stand below its own.

    >>> folded({"Python": "api.md"}, {"api.md": ["api/run.md"]}), folded("x.md", {})
    ({'Python': [{'All names': 'api.md'}, 'api/run.md']}, 'x.md')
    """
    [(title, page)] = entry.items() if isinstance(entry, dict) else [("", "")]
    return {title: [{"All names": page}, *below[page]]} if isinstance(page, str) and page in below else entry


def sections(text: str, mark: str) -> list[tuple[str, str]]:
    """Headings and what stands below them."""
    parts = re.split(rf"^{mark}(.+)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def named(text: str, seen: set[str]) -> Nav:
    """The pages that a text links to and that were not seen yet."""
    pages: Nav = []
    for title, link in LINK.findall(text):
        page = target(link, "docs/README.md")
        if page not in seen:
            seen.add(page)
            pages.append(page if title.isdigit() else {re.sub(r"\s+", " ", title).replace("`", ""): page})
    return pages
