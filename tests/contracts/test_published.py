"""Models that are offered by name: what is said of them is so."""

from __future__ import annotations

import pytest
import timm
import torch
from torch.utils.flop_counter import FlopCounterMode

from trainers.encoders.published import PUBLISHED, Published

COUNTED = ("resnet18.a1_in1k", "convnext_tiny.fb_in22k", "vit_small_patch16_224.augreg_in21k")


def built(name: str, device: str) -> torch.nn.Module:
    with torch.device(device):
        return timm.create_model(name, pretrained=False, num_classes=0).eval().requires_grad_(False)


@pytest.mark.parametrize("model", PUBLISHED, ids=lambda model: model.name)
def test_size_side_and_licence_are_those_of_the_library(model: Published) -> None:
    config = timm.models.get_pretrained_cfg(model.name, allow_unregistered=False)
    assert config is not None and config.has_weights
    assert (config.license, config.input_size[-1]) == (model.licence, model.side)
    weights = sum(weight.numel() for weight in built(model.name, "meta").parameters())
    assert round(weights / 1e6, 1) == model.millions


@pytest.mark.parametrize(
    "model",
    [model if model.name in COUNTED else pytest.param(model, marks=pytest.mark.long) for model in PUBLISHED],
    ids=lambda model: model.name,
)
def test_operations_are_counted(model: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timm.layers.config._USE_FUSED_ATTN", 0)  # not every torch counts what is fused
    net = built(model.name, "cpu")
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        net(torch.zeros(1, 3, model.side, model.side))
    assert round(counted.get_total_flops() / 2e9, 1) == model.gmacs
