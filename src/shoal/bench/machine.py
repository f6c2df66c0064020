"""What the machine gives: the speed of a matrix product, processor time and memory of a tree of processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from shoal.bench.plain import loss_of
from shoal.observers.memory import family, pss

Notify = Callable[[str], None]  # takes a line on what is being timed


def gemm_peak(size: int = 1024, times: int = 6) -> float:
    """Floating-point operations per second of processor time in a product of two square matrices, one thread."""
    with threads(1):
        a, b = torch.rand(size, size), torch.rand(size, size)
        best = min(_once(a, b) for _ in range(times))
    return 2 * size**3 / best


def _once(a: torch.Tensor, b: torch.Tensor) -> float:
    began = time.process_time()
    torch.mm(a, b)
    return max(time.process_time() - began, 1e-9)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Torch with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def child_environment() -> dict[str, str]:
    """The environment for a process that shall find the packages that this one found.

    It may keep what it compiles, as processes do by default: else each would compile all of Shoal anew.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def in_a_process(code: str, *arguments: object) -> dict[str, Any]:
    """What a piece of Python prints last, as JSON, in a process of its own; or a `note` on why there is nothing.

    >>> in_a_process("import json, sys; print(json.dumps({'twice': 2 * int(sys.argv[1])}))", 4)
    {'twice': 8}
    >>> in_a_process("raise ValueError('no')")
    {'note': 'failed: ValueError: no'}
    """
    return last_json("-c", code, *map(str, arguments))


def last_json(*words: str) -> dict[str, Any]:
    """The last line of JSON that Python prints with these words, or a `note`.

    >>> last_json("-c", "print('{}')")
    {}
    """
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=child_environment())
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"note": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def cpu_seconds() -> float:
    """Processor time of this process and its children so far; of this process alone without /proc.

    Of this process threads that have ended count as well, as calls of the kernel come and go in threads; of children,
    which are workers, those that are there.
    """
    spent = 0
    try:
        for pid in family(os.getpid())[1:]:
            for task in Path(f"/proc/{pid}/task").iterdir():
                spent += int((task / "schedstat").read_text().split()[0])
    except (OSError, IndexError, ValueError):
        spent = 0
    return time.process_time() + spent / 1e9


def memory() -> int:
    """Proportional set size of this process and its children, in bytes."""
    return sum(map(pss, family(os.getpid())))


def flops(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
    """Operations of matrix products and convolutions of one batch: training (there and back), and testing.

    >>> layer = nn.Linear(10, 4)
    >>> flops(layer, torch.zeros(2, 10), torch.zeros(2, dtype=torch.int64))  # 2 x 2 x 10 x 4; no gradient of inputs
    (320, 160)
    """
    fused = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)  # recurrent layers as products
    try:
        with FlopCounterMode(display=False) as there_and_back:
            loss_of(module.train()(x), y).backward()  # type: ignore[no-untyped-call]
        with FlopCounterMode(display=False) as there, torch.no_grad():
            module.eval()(x)
    finally:
        torch._C._set_mkldnn_enabled(fused)
    return there_and_back.get_total_flops(), there.get_total_flops()
