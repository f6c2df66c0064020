"""What a run ran on, as its folder says it."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime
from typing import Any


def environment(version: str) -> dict[str, Any]:
    """What the run ran on."""
    import numpy
    import torch

    from shoal.kernels import native

    return {
        "shoal": version,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "kernels": built[0] if (built := native()) else "none",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "command": sys.argv,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
