"""Whether a tag can be released: everything that names the version says the same.

python -m tools.release v0.1.0
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def version_of(root: Path = ROOT) -> str:
    """The version of the package, read from its file."""
    found = re.search(r'^__version__ = "([^"]+)"$', (root / "src/shoal/version.py").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError("src/shoal/version.py has no line __version__ = ...")
    return found[1]


def problems(tag: str, root: Path = ROOT) -> Iterator[str]:
    """What must be mended before a tag is released, a sentence each.

    Args:
        tag: The tag, as v0.1.0.
        root: The repository.

    Returns:
        Nothing if all is well.
    """
    version = version_of(root)
    if tag != f"v{version}":
        yield f"the tag is {tag} but src/shoal/version.py says {version}; tag v{version}, or change the version"
    if f"\n## {version}\n" not in (root / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md has no section '## {version}'; give that name to 'Unreleased' and begin a new one above it"
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text():
        yield f"CITATION.cff does not say 'version: {version}'"


def main() -> None:
    """End with 1 and the reasons if the tag cannot be released."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tag")
    found = list(problems(parser.parse_args().tag))
    print("\n".join(found) or f"version {version_of()} can be released")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
