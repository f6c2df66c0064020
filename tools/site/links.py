"""Links as GitHub has them, made to work on the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/shoal-fl/shoal"
TARGET = re.compile(r"(?<=\]\()[^)\s]+(?=\))|(?<=\]: )\S+$", re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
SHOWN = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}  # files outside docs/ that are pages


def slug(text: str, separator: str) -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> slug("No idea? `shoal run auto`", "-")
    'no-idea-shoal-run-auto'
    """
    return re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]*>", "", text).lower()).strip().replace(" ", separator)


def rewritten(text: str, page: str) -> str:
    """A page whose links lead somewhere on the site, or to the repository.

    Args:
        text: The Markdown.
        page: Its path, seen from the repository.

    Returns:
        The Markdown with other targets.

    >>> rewritten("[a](../src/shoal/types.py) [b](choose.md#x) [c](notebooks/first-steps.ipynb)", "docs/tutorial.md")
    '[a](https://github.com/shoal-fl/shoal/blob/main/src/shoal/types.py) [b](choose.md#x) [c](notebooks/first-steps.md)'
    """
    parts = FENCE.split(text)
    return "".join(p if i % 2 else TARGET.sub(lambda m: target(m[0], page), p) for i, p in enumerate(parts))


def target(link: str, page: str) -> str:
    """One link of a page.

    >>> target("docs/choose.md#x", "CHANGELOG.md"), target("../CHANGELOG.md", "docs/faq.md")
    ('choose.md#x', 'changelog.md')
    >>> target("results/", "docs/README.md")
    'https://github.com/shoal-fl/shoal/tree/main/docs/results'
    """
    path, sharp, anchor = link.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return link
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if meant in SHOWN:
        meant = f"docs/{SHOWN[meant]}"
    elif not meant.startswith("docs/") or (ROOT / meant).is_dir():
        kind = "tree" if (ROOT / meant).is_dir() else "blob"
        return f"{REPOSITORY}/{kind}/main/{meant}{sharp}{anchor}"
    here = posixpath.dirname(f"docs/{SHOWN[page]}" if page in SHOWN else page)
    meant = str(PurePosixPath(meant).with_suffix(".md")) if meant.endswith(".ipynb") else meant
    return posixpath.relpath(meant, here) + sharp + anchor
