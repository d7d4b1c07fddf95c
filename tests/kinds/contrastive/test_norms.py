"""Split batch normalisation against explicit groups; shuffling on one device and across processes."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from timm.layers import BatchNormAct2d
from torch import nn

from trainers.config import NORMS
from trainers.encoders import ENCODERS
from trainers.encoders.norms import SplitBatchNorm, replace_norms
from trainers.kinds.contrastive.moco import shuffled

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("count", [16, 12, 13, 5])
@pytest.mark.parametrize("shape", [(), (3, 3)])
def test_each_group_is_normalised_by_itself(count: int, shape: tuple[int, ...]) -> None:
    torch.manual_seed(count)
    plain = (nn.BatchNorm2d if shape else nn.BatchNorm1d)(6).double()
    nn.init.normal_(plain.weight)
    nn.init.normal_(plain.bias)
    split = SplitBatchNorm(plain, 4).double()
    images = torch.randn(count, 6, *shape, dtype=torch.float64)
    groups = min(4, count // 2)
    expected, means, variances = torch.empty_like(images), [], []
    for part in range(groups):
        own = (nn.BatchNorm2d if shape else nn.BatchNorm1d)(6).double()
        own.load_state_dict(plain.state_dict())
        expected[part::groups] = own(images[part::groups])
        means.append(own.running_mean)
        variances.append(own.running_var)
    assert torch.allclose(split(images), expected, atol=1e-12)
    assert torch.allclose(split.running_mean, torch.stack(means).mean(0))
    assert torch.allclose(split.running_var, torch.stack(variances).mean(0))
    assert int(split.num_batches_tracked) == 1
    split.eval(), plain.eval()
    plain.running_mean.copy_(split.running_mean), plain.running_var.copy_(split.running_var)
    assert torch.allclose(split(images), plain(images), atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["conv4", "small_conv"])
def test_encoders_with_every_norm(norm: str, name: str) -> None:
    encoder = replace_norms(ENCODERS[name].build(channels=3, side=32, dim=8, parameters={}), norm, 2)
    plain = [layer for layer in encoder.modules() if type(layer) in (nn.BatchNorm1d, nn.BatchNorm2d)]
    assert bool(plain) == (norm == "batch")
    images = torch.rand(6, 3, 32, 32)
    together = encoder(images)
    assert together.shape == (6, 8) and torch.isfinite(together).all()
    if norm in ("group", "layer"):
        assert torch.allclose(together[:1], encoder(images[:1]), atol=1e-5)  # no image sees another


def test_layers_inside_a_batch_norm_stay() -> None:
    """timm's batch norms hold dropout and activation; without them its networks would be almost linear."""
    torch.manual_seed(0)
    plain = BatchNormAct2d(6).train()
    for norm in NORMS:
        layer = replace_norms(copy.deepcopy(plain), norm, 2)
        found = layer(torch.randn(8, 6, 3, 3))
        assert (found >= 0).all() and (found == 0).any(), norm
    images = torch.randn(8, 6, 3, 3)
    split = replace_norms(nn.Sequential(copy.deepcopy(plain)), "split", 2)
    assert split[0].state_dict().keys() == plain.state_dict().keys()
    expected = torch.empty_like(images)
    for part in range(2):
        expected[part::2] = plain(images[part::2])
    assert torch.allclose(split(images), expected, atol=1e-6)


def test_group_normalisation_leaves_something_of_vectors() -> None:
    rows = replace_norms(nn.BatchNorm1d(32), "group")(torch.randn(4, 32))
    assert rows.std(1).min() > 0.9


def test_shuffling_restores_the_order_and_mixes_the_groups() -> None:
    net = SplitBatchNorm(nn.BatchNorm1d(3, affine=False), 4)
    images = torch.randn(16, 3)
    torch.manual_seed(0)
    assert torch.equal(shuffled(nn.Identity(), images), images)
    assert not torch.allclose(shuffled(net, images), net(images), atol=1e-3)
