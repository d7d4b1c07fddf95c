"""An encoder with its batch norms folded: the same values, the original untouched, what cannot be folded left alone."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from tests.contracts.test_encoders import build
from trainers.encoders import ENCODERS
from trainers.training.embedding import embed, folded

CPU = torch.device("cpu")


def lived_in(module: nn.Module) -> nn.Module:
    """With running statistics and gains that are not those of a fresh layer."""
    draws = torch.Generator().manual_seed(1)
    for part in module.modules():
        if getattr(part, "running_mean", None) is not None:
            part.running_mean.copy_(torch.randn(part.num_features, generator=draws) * 0.3)
            part.running_var.copy_(torch.rand(part.num_features, generator=draws) + 0.5)
            if part.affine:
                part.weight.data.copy_(torch.rand(part.num_features, generator=draws) + 0.5)
                part.bias.data.copy_(torch.randn(part.num_features, generator=draws) * 0.3)
    return module


def norms(module: nn.Module) -> int:
    return sum(hasattr(part, "running_mean") for part in module.modules())


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_embeds_as_it_does_plainly(name: str, layout: torch.memory_format) -> None:
    encoder = lived_in(build(name, 3)).to(memory_format=layout).train()
    draws = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (150, 3, 32, 32), dtype=torch.uint8, generator=draws)[: 5 if name == "timm" else 150]
    if encoder.frozen:
        images = torch.randn(150, encoder.backbone.num_features, generator=draws)
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    embeddings = embed(encoder, images, CPU)
    assert encoder.training and not embeddings.requires_grad
    assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())
    with torch.no_grad():
        pixels = images.float() if encoder.frozen else images.float() / 255
        plain = nn.functional.normalize(encoder.eval()(pixels), dim=1)
    torch.testing.assert_close(embeddings, plain, rtol=0, atol=2e-6)
    assert (plain[0] - plain[1]).abs().max() > 1e-4  # it is no constant


def test_the_small_net_loses_all_its_norms_and_shares_the_rest() -> None:
    encoder = lived_in(build("small_conv", 3))
    eyes = folded(encoder)
    assert norms(encoder) > 0 == norms(eyes)
    assert eyes.head.weight.data_ptr() == encoder.head.weight.data_ptr()
    first = nn.functional.normalize(eyes(torch.rand(2, 3, 32, 32)), dim=1)
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    again = nn.functional.normalize(folded(encoder)(torch.rand(2, 3, 32, 32)), dim=1)
    assert not torch.allclose(first, again, atol=1e-3)  # a new copy has the weights of now


class Odd(nn.Module):
    """Whatever must not be folded: a norm first, one without statistics, one behind another layer, a hook between."""

    def __init__(self) -> None:
        super().__init__()
        shared = nn.Conv2d(4, 4, 3, padding=1)
        self.norm_first = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 3))
        self.no_statistics = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4, track_running_stats=False))
        self.behind = nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU(), nn.BatchNorm2d(4))
        self.hooked = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4))
        self.hooked[0].register_forward_hook(lambda _layer, _inputs, output: output * 2)
        self.twice = nn.Sequential(nn.Sequential(shared, nn.BatchNorm2d(4)), nn.Sequential(shared, nn.BatchNorm2d(4)))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.twice(self.hooked(self.behind(self.no_statistics(self.norm_first(images)))))
        return x.flatten(1)


def test_what_cannot_be_folded_stays_and_a_layer_used_twice_is_folded_twice() -> None:
    odd = lived_in(Odd())
    images = torch.rand(6, 3, 8, 8)
    eyes = folded(odd)
    assert norms(odd) == 6 and norms(eyes) == 4
    with torch.no_grad():
        torch.testing.assert_close(eyes(images), copy.deepcopy(odd).eval()(images), rtol=0, atol=1e-5)
