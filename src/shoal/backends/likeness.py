"""Whether machines compute alike: versions and instruction sets decide the last bits, so workers tell theirs."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from shoal.version import __version__

REMEDIES = {
    "kernel": "set SHOAL_KERNEL_VARIANT to the weaker one on all machines",
    "instructions": "set ATEN_CPU_CAPABILITY to the weaker one on all machines",
}


def facts() -> dict[str, str]:
    """What decides the bits of this machine.

    >>> sorted(facts())
    ['instructions', 'kernel', 'numpy', 'processor', 'python', 'shoal', 'torch']
    """
    import numpy
    import torch

    from shoal.kernels import native

    built = native()
    return {
        "shoal": __version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": numpy.__version__,
        "torch": torch.__version__,
        "processor": platform.machine(),
        "kernel": "none" if built is None else built[0],
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def unlike(here: Mapping[str, str], there: Mapping[str, str], name: str) -> str | None:
    """One sentence on a machine that computes differently, with what to do; None if it does not.

    Args:
        here: What `facts` says on this machine.
        there: What it says on the other one.
        name: That of the other one.

    Returns:
        The sentence.

    >>> unlike({"torch": "2.9", "kernel": "avx512"}, {"torch": "2.9", "kernel": "avx512"}, "10.0.0.5") is None
    True
    >>> print(unlike({"torch": "2.9", "kernel": "avx512"}, {"torch": "2.9", "kernel": "avx2"}, "10.0.0.5"))
    10.0.0.5 computes other bits than this machine (kernel avx2 there, avx512 here) and gets no work; to use it set
    SHOAL_KERNEL_VARIANT to the weaker one on all machines and start Ray there again
    >>> unlike({"torch": "2.9"}, {"torch": "2.8"}, "10.0.0.5").partition("; ")[2]
    'to use it install the same versions on all machines and start Ray there again'
    """
    differ = [key for key in here if there.get(key) != here[key]]
    if not differ:
        return None
    what = ", ".join(f"{key} {there.get(key, 'unknown')} there, {here[key]} here" for key in differ)
    remedies = dict.fromkeys(REMEDIES.get(key, "install the same versions on all machines") for key in differ)
    return (
        f"{name} computes other bits than this machine ({what}) and gets no work; to use it "
        f"{' and '.join(remedies)} and start Ray there again"
    )
