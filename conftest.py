"""What pytest leaves out: modules of an extra that is not installed."""

from __future__ import annotations

from importlib.util import find_spec

NEEDED = {"flwr": "src/shoal/flower/*", "mkdocs": "tools/site/*"}
collect_ignore_glob = [files for package, files in NEEDED.items() if not find_spec(package)]
