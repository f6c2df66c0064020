"""How a run computes, chosen once by a rule on the model and the length of the run, never by timing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from shoal.data.federation import Source
from shoal.errors import BadInput
from shoal.kernels import Network, native, why_none
from shoal.layout import Layout, as_input, call, seeded
from shoal.net import Arithmetic
from shoal.setup.settings import Settings
from shoal.solvers import SGD
from shoal.tree import Shape, take
from shoal.types import Solver

STEPS = 50_000  # local steps of a run from which compiling, a minute in every worker, is paid back
BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # what Linux says of processors that multiply such numbers
Compile = Literal["auto", "on", "off"]


def choose_arithmetic(
    settings: Settings, layout: Layout, source: Source, steps: float, solver: Solver | None = None
) -> Arithmetic:
    """How the run computes; torch.compile is for what torch trains, and what only torch can do is trained by it."""
    wanted: str = settings.kernel
    narrow = settings.precision == "bfloat16"
    for key, through_torch in (("compile=on", settings.compile == "on"), ("precision=bfloat16", narrow)):
        if through_torch and wanted == "native":
            raise BadInput(f"{key} and kernel=native exclude each other: use one of them")
    if narrow:
        check_bfloat16(settings.device)
    if (alone := torch_alone(solver)) is not None:
        if wanted == "native":
            raise BadInput(f"kernel=native makes steps of plain SGD only, so {alone} needs kernel=torch or kernel=auto")
        wanted = "torch"
    kernel = choose_kernel("torch" if narrow or settings.compile == "on" else wanted, settings.device, layout)
    compiled = kernel == "torch" and choose_compiled(settings.compile, layout, source, steps)
    return Arithmetic(settings.device, kernel, compiled, narrow)


def torch_alone(solver: Solver | None) -> str | None:
    """The key of a solver by which its steps are no plain ones, which torch alone makes; None: there is none.

    >>> from shoal import SGD
    >>> torch_alone(SGD(momentum=0.9)), torch_alone(SGD(optimiser="adam")), torch_alone(SGD(clip=1))
    (None, 'optimiser=adam', 'clip=1')
    """
    if not isinstance(solver, SGD) or solver.plain:
        return None
    found = {name: getattr(solver, name) for name in ("optimiser", "clip", "schedule")}
    return next(f"{name}={value}" for name, value in found.items() if value not in ("sgd", None, "constant"))


def choose_kernel(wanted: str, device: str, layout: Layout) -> Literal["torch", "native"]:
    """What trains clients; a function of the model and of what is installed, never of timing."""
    if wanted == "torch":
        return "torch"
    if native() is None:
        why = why_none()
    elif torch.device(device).type != "cpu":
        why = "it runs on the CPU only"
    elif not layout.objective.plain:
        why = "it trains the cross entropy of classes without weights, and the task of the run is another"
    elif layout.tree:
        why = "it takes one array of samples, and the inputs are several, or sequences of different lengths"
    elif Network.of(layout.probe) is None:
        why = (
            "the model is not made of convolutions (norms, ReLU, max pooling by two, mean pooling, residual blocks) "
            "and linear layers alone, nor of LSTM and GRU layers that read one way and linear layers"
        )
    else:
        return "native"
    if wanted == "native":
        raise BadInput(f"kernel=native is not possible: {why}; use kernel=torch")
    return "torch"


def choose_compiled(wanted: Compile, layout: Layout, source: Source, steps: float) -> bool:
    """Whether full batches are trained through `torch.compile`.

    `auto` compiles where it was found to pay: convolutions with batch norm and without max pooling, whose many small
    passes over the maps become few, in runs of at least 50,000 local steps; and only if there is a C++ compiler and
    the model can be traced as one graph.
    """
    if wanted == "off":
        return False
    if wanted == "auto":
        return (
            compiling_pays(layout.probe, steps) and compiler() is not None and why_not_one_graph(layout, source) is None
        )
    if compiler() is None:
        raise BadInput("compile=on needs a C++ compiler, and none was found; install g++, or use compile=off")
    reason = why_not_one_graph(layout, source)
    if reason is None and of_any_length(source.shape):
        reason = "batches of sequences have many lengths"
    if reason is not None:
        raise BadInput(f"compile=on is not possible: the model is not one graph ({reason}); use compile=off")
    return True


def compiling_pays(module: nn.Module, steps: float) -> bool:
    """The rule of `compile=auto`.

    >>> compiling_pays(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), 100_000)
    True
    >>> compiling_pays(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.MaxPool2d(2)), 100_000)
    False
    """
    kinds = list(module.modules())
    convolution, norm, pool = (
        any(isinstance(m, kind) for m in kinds) for kind in (nn.Conv2d, _BatchNorm, nn.MaxPool2d)
    )
    return convolution and norm and not pool and steps >= STEPS


def local_steps(solver: Solver | None, sizes_N: Any, asked: int, rounds: int) -> float:
    """Local steps of a run, every client taken as one of mean size; 0 if the algorithm has no solver.

    >>> from shoal import SGD
    >>> local_steps(SGD(epochs=2, batch=10), np.array([20, 40]), asked=5, rounds=3)
    90.0
    """
    if solver is None:
        return 0.0
    return float(rounds * asked * solver.steps_for(round(float(np.mean(sizes_N)))))


def check_bfloat16(device: str) -> None:
    """A sentence where numbers of 16 bits would be slower: where the processor does not multiply them itself."""
    if torch.device(device).type == "cuda":
        able, what = torch.cuda.is_bf16_supported(including_emulation=False), "this GPU"
    else:
        able, what = bool(BFLOAT16 & processor_flags()), "this processor"
    if not able:
        raise BadInput(f"precision=bfloat16 is not possible: {what} does not multiply such numbers; use float32")


def processor_flags() -> set[str]:
    """What the first processor can do, in the words of Linux; elsewhere nothing is known.

    >>> processor_flags() >= set()
    True
    """
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    told = [line.partition(":")[2] for line in lines if line.lower().startswith(("flags", "features"))]
    return set(told[0].split()) if told else set()


def compiler() -> str | None:
    """A C++ compiler of this machine."""
    return next(
        (found for name in (os.environ.get("CXX"), "g++", "clang++") if name and (found := shutil.which(name))), None
    )


def of_any_length(shape: Shape) -> bool:
    """Whether batches of an input may differ in more than their number of samples.

    >>> of_any_length((1, 8, 8)), of_any_length({"input_ids": (0,)})
    (False, True)
    """
    return any(0 in sizes for sizes in (shape.values() if isinstance(shape, dict) else (shape,)))


def why_not_one_graph(layout: Layout, source: Source) -> str | None:
    """Why the module cannot be traced as one graph, or None."""
    module = seeded(layout.factory, 0).to(layout.torch_dtype)
    x = as_input(module, take(source.sample(), np.array([0, 0])))
    try:
        call(torch.compile(module.train(), fullgraph=True, dynamic=False, backend="eager"), x)
    except Exception as e:
        return next((line.strip() for line in str(e).splitlines() if line.strip()), type(e).__name__)
    finally:
        torch.compiler.reset()
    return None
