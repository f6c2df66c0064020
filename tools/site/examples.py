"""An extension of griffe, which reads docstrings for the reference: examples become blocks of code."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Examples(Extension):
    """What mkdocs.yml names."""

    def on_object(self, *, obj: Object, **others: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring whose examples stand in fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nSo.")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nSo.'
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
