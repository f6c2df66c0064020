"""Convolutional networks: padding as in TensorFlow, pooling and ReLU, what lies between features and head."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from shoal.models import factory
from shoal.models.conv import SameConv


def ones(size: int) -> tuple[SameConv, torch.Tensor]:
    conv = SameConv(1, 1, 5)
    nn.init.ones_(conv.weight)
    nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
    return conv, torch.ones(1, 1, size, size)


def test_same_convolution_pads_below_and_right() -> None:
    """Even size 4, stride 2: 2 outputs need (2 - 1) * 2 + 5 - 4 = 3 rows of padding, 1 above and 2 below.

    With ones everywhere an output counts the pixels under the kernel: rows -1..3 hold 4, rows 1..5 hold 3.
    """
    conv, x = ones(4)
    assert conv(x)[0, 0].tolist() == [[16.0, 12.0], [12.0, 9.0]]


def test_same_convolution_of_odd_size_pads_evenly() -> None:
    """Size 5: 3 outputs need 4 rows, 2 on either side: 3, 5 and 3 rows under the kernel."""
    conv, x = ones(5)
    assert conv(x)[0, 0].tolist() == [[9.0, 15.0, 9.0], [15.0, 25.0, 15.0], [9.0, 15.0, 9.0]]


@pytest.mark.parametrize(
    ("name", "shape", "maps"),
    [
        ("mnist-cnn", (1, 28, 28), (64, 7, 7)),
        ("cnn", (3, 9, 12), (64, 2, 3)),
        ("femnist-cnn", (1, 28, 28), (64, 4, 4)),
        ("fmnist-cnn", (1, 28, 28), (64, 7, 7)),
        ("wecfl-fmnist", (1, 28, 28), (32, 7, 7)),
        ("wecfl-cifar", (3, 32, 32), (16, 5, 5)),
        ("fedgsp-leaf-small", (1, 28, 28), (32, 7, 7)),
        ("cfl-cnn", (3, 32, 32), (64, 5, 5)),
        ("cfl-notebook", (1, 28, 28), (16, 4, 4)),
    ],
)
def test_features_are_maps(name: str, shape: tuple[int, ...], maps: tuple[int, ...]) -> None:
    model = factory(name, shape, 10)()
    assert model.get_submodule("features")(torch.zeros(3, *shape)).shape == (3, *maps)


def test_pooling_and_relu_commute_in_value_and_gradient() -> None:
    torch.manual_seed(0)
    x = torch.randint(-3, 4, (4, 2, 8, 8)).float()  # many ties
    grads = []
    for layers in ([nn.MaxPool2d(2), nn.ReLU()], [nn.ReLU(), nn.MaxPool2d(2)]):
        leaf = x.clone().requires_grad_()
        out = nn.Sequential(*layers)(leaf)
        (out * torch.arange(out.numel()).view(out.shape)).sum().backward()
        assert leaf.grad is not None
        grads.append((out.detach(), leaf.grad))
    assert torch.equal(grads[0][0], grads[1][0])
    assert torch.equal(grads[0][1], grads[1][1])


def test_dropout_only_while_training() -> None:
    model = factory("mnist-cnn", (1, 28, 28), 10)().eval()
    x = torch.rand(2, 1, 28, 28)
    assert torch.equal(model(x), model(x))
    model.train()
    assert not torch.equal(model(x), model(x))
