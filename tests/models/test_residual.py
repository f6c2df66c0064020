"""Residual networks: the published sizes, what a block does, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.models import factory
from shoal.models.registry import RESNETS
from shoal.models.residual import Residual


def parameters(name: str) -> int:
    return sum(p.numel() for p in factory(name, (3, 32, 32), 10)().parameters())


def test_sizes_on_cifar() -> None:
    """He et al. 2016 give 0.27 M for 20 layers: 269,722 without weights in shortcuts; ours have 2,752 in them."""
    shortcuts = (16 * 32 + 64) + (32 * 64 + 128)
    assert parameters("resnet20") == parameters("resnet20-batch-norm") == 269_722 + shortcuts == 272_474
    assert parameters("resnet8") == parameters("resnet8-batch-norm") == 78_042


def test_statistics_travel_with_batch_norm_only() -> None:
    """Nine norms: of seven convolutions and two shortcuts; 16 maps three times, 32 and 64 three times each."""
    sizes = {
        name: Layout.of(factory(name, (3, 32, 32), 10), np.zeros((1, 3, 32, 32), np.float32))
        for name in ("resnet8", "resnet8-batch-norm")
    }
    assert sizes["resnet8"].size == 78_042
    assert sizes["resnet8-batch-norm"].size == 78_042 + 2 * 3 * (16 + 32 + 64) + 9


@pytest.mark.parametrize("name", RESNETS)
def test_features_are_the_mean_of_64_maps(name: str) -> None:
    model = factory(name, (3, 19, 32), 10)()
    features = model.get_submodule("features")
    assert features(torch.zeros(3, 3, 19, 32)).shape == (3, 64, 1, 1)
    halved = [m for m in features.modules() if isinstance(m, nn.Conv2d) and m.stride == (2, 2)]
    assert [m.kernel_size[0] for m in halved] == [1, 3, 1, 3]


def test_a_block_adds_its_shortcut() -> None:
    x = torch.tensor([[[[2.0, -1.0]]]])
    body = nn.Conv2d(1, 1, 1)
    nn.init.constant_(body.weight, 3.0)
    nn.init.constant_(body.bias, 0.5)  # type: ignore[arg-type]
    assert Residual(nn.Identity(), body)(x).tolist() == [[[[8.5, -3.5]]]]


def test_groups_can_be_chosen() -> None:
    norms = [m for m in factory("resnet8", (3, 8, 8), 10, groups=4)().modules() if isinstance(m, nn.GroupNorm)]
    assert [m.num_groups for m in norms] == [4] * 9
    with pytest.raises(BadInput, match=r"^groups=3 of the model 'resnet20' does not divide its 16 maps; use 1, 2, 4, "):
        factory("resnet20", (3, 8, 8), 10, groups=3)()


def test_what_does_not_fit_is_one_sentence() -> None:
    text = "the model 'resnet8' takes images of shape channels x height x width, not 64"
    with pytest.raises(BadInput, match=f"^{re.escape(text)}$"):
        factory("resnet8", (64,), 10)
    with pytest.raises(
        BadInput, match=r"^a shortcut and a body give images of 1x4x4 and 1x2x2, which cannot be added;"
    ):
        Residual(nn.Identity(), nn.Conv2d(1, 1, 3))(torch.zeros(1, 1, 4, 4))
