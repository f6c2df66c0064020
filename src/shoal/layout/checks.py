"""What a model must be to travel as one vector; what is wrong with one is said at once, in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy

from shoal.errors import BadInput
from shoal.layout.calling import call
from shoal.layout.seeding import ModelFactory, seeded, torch_seed
from shoal.tree import Tree, batch, shape_of, told, tree_map
from shoal.types import Array


def sound(factory: ModelFactory) -> tuple[nn.Module, nn.Module]:
    """Two modules of a factory that can be relied on: fresh at every call, the same ones under the same seed."""
    try:
        one, two = seeded(factory, 0), seeded(factory, 0)
    except TypeError as e:
        raise BadInput(f"the model function cannot be called without arguments: {e}") from e
    if not isinstance(one, nn.Module):
        raise BadInput(f"the model function returned {type(one).__name__}, not an nn.Module")
    first, second = everything(one), everything(two)
    if any(is_lazy(t) for t in first.values()):
        raise BadInput("the model has lazy layers, whose size is not known yet; give their sizes")
    if any(t.is_complex() for t in first.values()):
        raise BadInput("the model has complex numbers; only real ones can travel")
    if one is two or any(t.numel() and t.data_ptr() == second[name].data_ptr() for name, t in first.items()):
        raise BadInput("the model function returns the same module every time; let it make a new one at each call")
    if first.keys() != second.keys() or not all(torch.equal(t, second[name]) for name, t in first.items()):
        raise BadInput("the model function gives another model each time; let it draw from torch's generator alone")
    if any(isinstance(m, _BatchNorm) and not m.track_running_stats for m in one.modules()):
        raise BadInput(
            "batch norm without running statistics would mix the clients of a test; use track_running_stats=True"
        )
    return one, two


def everything(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers, also those that do not travel."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def factory_of(model: ModelFactory | nn.Module) -> ModelFactory:
    """What makes a model; a sentence if it is a module, or nothing that can be called.

    Args:
        model: What a user gave.

    Returns:
        The same.

    >>> factory_of(nn.Linear(2, 2))
    Traceback (most recent call last):
    shoal.errors.BadInput: give the model as something that makes it, for instance `model=lambda: Net()` ...
    """
    if isinstance(model, nn.Module):
        raise BadInput(
            "give the model as something that makes it, for instance `model=lambda: Net()` or the class itself, "
            "so that every run and every group can draw its own initial weights"
        )
    if not callable(model):
        raise BadInput(f"a model is a name or a function that returns an nn.Module, not {type(model).__name__}")
    return model


AXES = {"classes": (1,), "labels": (1,), "tokens": (2,), "floats": range(9)}  # of the outputs of one sample
WANTED = {"classes": "class scores", "labels": "label scores", "tokens": "class scores for each token"}


def try_model(module: nn.Module, sample: Tree, targets: str = "classes") -> tuple[int, ...]:
    """Send one sample through; the shape of its outputs, or one sentence on what does not fit."""
    try:
        with torch.no_grad():
            out = call(module.eval(), as_input(module, sample))
    except BadInput:
        raise
    except Exception as e:
        shape = told(shape_of(batch(sample)))
        raise BadInput(f"the model cannot take an input of shape {shape}: {str(e).splitlines()[0]}") from e
    if out.dim() - 1 not in AXES[targets] or len(out) != 1:
        wanted = WANTED.get(targets, "numbers")
        raise BadInput(f"the model must turn a batch of inputs into one row of {wanted} per sample")
    return tuple(out.shape[1:])


def as_input(module: nn.Module, sample: Tree) -> Any:
    """Samples in the precision of the module; whole numbers (tokens) as they are.

    Args:
        module: What is to take them.
        sample: Inputs (B, ...).

    Returns:
        A tensor, or a dict or tuple of them.

    >>> as_input(nn.Linear(2, 2), np.zeros((1, 2))).dtype
    torch.float32
    """
    dtype = next(p.dtype for p in module.parameters())

    def tensor(array: Array) -> torch.Tensor:
        x = torch.from_numpy(np.ascontiguousarray(array))
        return x.to(dtype) if x.is_floating_point() else x

    return tree_map(tensor, batch(sample))


def takes_channels_last(module: nn.Module, sample: Tree) -> bool:
    """Whether a module with two-dimensional convolutions takes images whose channels are innermost in memory.

    Convolution and pooling are faster so. A module that looks at the memory of its maps (`x.view(len(x), -1)` after a
    convolution) cannot take them; it gets images as they are.

    Args:
        module: Any module.
        sample: One input (1, ...).

    Returns:
        Whether its outputs are the same, to rounding.

    >>> net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 36, 2))
    >>> takes_channels_last(net, np.zeros((1, 1, 8, 8), np.float32))
    True
    """
    if (
        not isinstance(sample, np.ndarray)
        or sample.ndim != 4
        or not any(isinstance(m, nn.Conv2d) for m in module.modules())
    ):
        return False
    x = torch.rand(2, *sample.shape[1:], generator=torch.Generator().manual_seed(0))
    x = x.to(next(p.dtype for p in module.parameters()))
    try:
        with torch.no_grad(), torch_seed(0):
            plain = module.eval()(x)
        with torch.no_grad(), torch_seed(0):
            return torch.allclose(plain, module(x.to(memory_format=torch.channels_last)), rtol=1e-3, atol=1e-4)
    except Exception:
        return False
