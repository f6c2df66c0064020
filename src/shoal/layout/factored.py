"""Large linear layers, whose gradient is left as the two factors it is a product of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

LARGE = 1 << 20  # weights of a linear layer whose gradient, with small batches, costs more to store than to compute
Span = tuple[torch.Tensor, torch.Tensor]  # a piece of the trainable numbers and its gradient


class Factored(torch.autograd.Function):
    """A linear layer that leaves the two factors of the gradient of its weights instead of their product."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: Any, factors: list[Span]) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.factors, ctx.biased = factors, bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, None, Any, None]:
        x, weight = ctx.saved_tensors
        out = grad.reshape(-1, grad.shape[-1])
        ctx.factors.append((out, x.reshape(-1, x.shape[-1])))
        return grad @ weight if ctx.needs_input_grad[0] else None, None, out.sum(0) if ctx.biased else None, None


def large_layers(module: nn.Module) -> list[nn.Linear]:
    """Linear layers, torch's own, with many weights that nobody else has.

    >>> [layer.out_features for layer in large_layers(nn.Sequential(nn.Linear(2048, 512), nn.Linear(512, 8)))]
    [512]
    """
    owners = Counter(id(p) for _, p in module.named_parameters(remove_duplicate=False))
    found = []
    for layer in module.modules():
        if type(layer) is nn.Linear and "forward" not in vars(layer) and isinstance(layer.weight, nn.Parameter):
            alone = layer.weight.requires_grad and owners[id(layer.weight)] == 1
            found += [layer] if alone and layer.weight.numel() >= LARGE else []
    return found
