"""What pytest leaves out: modules of an extra that is not installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("flwr") else ["src/shoal/flower/*"]
