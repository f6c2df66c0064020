"""How many operations a training step takes: counted while one sample passes through a model, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from shoal.layout import Layout, call
from shoal.net import Net
from shoal.tree import Tree, batch

PRODUCTS = {
    F.linear: "linear",
    torch.mm: "matmul",
    torch.Tensor.mm: "matmul",
    torch.bmm: "matmul",
    torch.Tensor.bmm: "matmul",
    torch.matmul: "matmul",
    torch.Tensor.matmul: "matmul",
    torch.Tensor.__matmul__: "matmul",
    torch.conv1d: "conv",
    torch.conv2d: "conv",
    torch.conv3d: "conv",
}
NO_PRODUCTS = """
__add__ __eq__ __ge__ __get__ __getitem__ __gt__ __iadd__ __imul__ __isub__ __le__ __len__ __lt__ __mul__ __ne__
__neg__ __pow__ __radd__ __rmul__ __rpow__ __rsub__ __rtruediv__ __set__ __setitem__ __sub__ __truediv__
_set_grad_enabled _softmax abs adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d add
add_ all amax amin any arange as_tensor avg_pool1d avg_pool2d avg_pool3d batch_norm binary_cross_entropy_with_logits
bool cat celu chunk clamp clone contiguous cos cross_entropy detach dim div div_ dropout dropout1d dropout2d dropout3d
elu embedding empty empty_like eq exp expand expand_as eye flatten float from_numpy full full_like gelu group_norm gt
hardswish hardtanh index_select instance_norm is_floating_point layer_norm leaky_relu linspace local_response_norm log
log_softmax logsigmoid lt masked_fill max max_pool1d max_pool2d max_pool3d mean min mish movedim mul mul_ narrow ne
neg norm normalize numel one_hot ones ones_like pad permute pow prelu rand rand_like randn randn_like relu relu6 relu_
repeat reshape rms_norm rsqrt select selu sigmoid silu sin size softmax softplus split sqrt square squeeze stack std
sub sub_ sum t tanh tensor to transpose tril triu type unbind unflatten unsqueeze var view view_as where zeros
zeros_like
"""  # functions of torch that multiply no matrices, and so count for nothing
FREE = frozenset(NO_PRODUCTS.split())


def flops_per_sample(layout: Layout, sample: Tree) -> float | None:
    """Operations of the products and convolutions of one training step, forward and backward, for one sample.

    The same numbers as torch's own counter gives, whose import takes longer than many a run. It is asked only where
    a model calls something that `PRODUCTS` and `FREE` do not know, such as `einsum` or attention, or brings gradients
    of its own.

    Args:
        layout: Of the model.
        sample: One input, with an axis for the batch.

    Returns:
        Their number; None for recurrent networks, whose operations torch does not count.

    >>> import numpy as np
    >>> layout = Layout.of(lambda: nn.Linear(3, 2), np.zeros((1, 3)))
    >>> flops_per_sample(layout, np.zeros((1, 3)))           # 2 * 3 * 2 forward, as many for the kernel's gradient
    24.0
    """
    net = Net(layout)
    if any(isinstance(m, nn.RNNBase) for m in net.module.modules()):
        return None
    net.module.eval()
    x = net.tensor(batch(sample))
    try:
        with Counter() as own:
            loss = loss_of(net, x)
        refuse_own_gradients(loss)
        loss.backward()  # type: ignore[no-untyped-call]
        return float(own.total)
    except Unknown:
        return count_with_torch(net, x)


def loss_of(net: Net, x: Tree) -> torch.Tensor:
    """The loss of a sample, of class 0; of other targets than classes a sum, as a loss multiplies no matrices."""
    outputs = call(net.module, x)
    return net.loss(outputs, torch.zeros(1, dtype=torch.int64)) if net.layout.objective.plain else outputs.sum()


def count_with_torch(net: Net, x: Tree) -> float:
    """The same by torch's own counter, which sees every operation."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        loss_of(net, x).backward()  # type: ignore[no-untyped-call]
    return float(counter.get_total_flops())


class Unknown(Exception):
    """A function that may multiply matrices in a way that is not known here."""


class Counter(TorchFunctionMode):
    """Adds up the operations of the functions of torch that are called while it is on.

    A product of (m, k) and (k, n) takes 2 m k n operations, and as many again for the gradient of each factor that has
    one; these are counted when that gradient comes by.

    >>> with Counter() as counter:
    ...     _ = torch.relu(torch.zeros(2, 3) @ torch.zeros(3, 5))
    >>> counter.total
    60
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kind, name = PRODUCTS.get(func), getattr(func, "__name__", "")
        if kind is None and name not in FREE:
            raise Unknown(name)
        found = func(*args, **(kwargs or {}))
        if kind is not None:
            forward, backward = operations(kind, args, kwargs or {}, found)
            self.total += forward
            if found.requires_grad:
                found.register_hook(partial(self._came_back, backward))
        return found

    def _came_back(self, count: int, grad: torch.Tensor) -> None:
        self.total += count


def refuse_own_gradients(loss: torch.Tensor) -> None:
    """Raise `Unknown` where a module has a `torch.autograd.Function`, whose way back nobody here sees."""
    seen, ahead = set(), [loss.grad_fn]
    while ahead:
        node = ahead.pop()
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            raise Unknown(node.name())
        if node is not None and node not in seen:
            seen.add(node)
            ahead += [before for before, _ in node.next_functions]


def operations(kind: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], found: torch.Tensor) -> tuple[int, int]:
    """Operations of a product, and those of the gradients of its factors.

    A convolution with groups counts its kernel's gradient once per group, as torch's counter does.

    >>> a, b = torch.zeros(2, 3), torch.zeros(3, 5, requires_grad=True)
    >>> operations("matmul", (a, b), {}, a @ b)
    (60, 60)
    """
    if len(args) < 2 or set(kwargs) - {"bias", "stride", "padding", "dilation", "groups"}:
        raise Unknown(kind)
    x, w = args[:2]
    if kind == "conv":
        if x.dim() != w.dim():
            raise Unknown("a convolution without an axis for the batch")
        forward = 2 * len(x) * prod(found.shape[2:]) * w.numel()
        return forward, forward * (x.requires_grad + w.requires_grad * (x.shape[1] // w.shape[1]))
    if x.dim() < 2 or w.dim() < 2:
        raise Unknown("a product with a vector")
    forward = 2 * found.numel() * x.shape[-1]
    return forward, forward * (x.requires_grad + w.requires_grad)
