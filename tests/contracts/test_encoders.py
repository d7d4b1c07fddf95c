"""Every encoder in the menu: it builds, embeds grey and colour, trains, and says what it is."""

from __future__ import annotations

import pytest
import torch

from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.kinds.metric_learning.config import MetricLearningConfig

SMALL = ("conv4", "small_conv")
OFFLINE = {"timm": {"pretrained": False}, "timm_frozen": {"pretrained": False}}


def build(name: str, channels: int, side: int = 32) -> torch.nn.Module:
    torch.manual_seed(0)
    return ENCODERS[name].build(channels=channels, side=side, dim=12, parameters=OFFLINE.get(name, {}))


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("channels", [1, 3])
def test_it_embeds_and_learns(name: str, channels: int) -> None:
    encoder = build(name, channels)
    images = torch.rand(4, channels, 32, 32)
    inputs = encoder.features(images).detach() if encoder.frozen else images
    out = encoder(inputs)
    assert out.shape == (4, 12) and torch.isfinite(out).all()
    out.square().sum().backward()
    trained = [p for p in encoder.parameters() if p.requires_grad]
    assert trained and all(p.grad is not None and torch.isfinite(p.grad).all() for p in trained)
    if encoder.frozen:
        assert all(not p.requires_grad for p in encoder.backbone.parameters())


@pytest.mark.parametrize("name", ENCODERS)
def test_without_head_the_pooled_features_are_left(name: str) -> None:
    whole, cut = build(name, 3), build(name, 3)
    width = cut.without_head()
    behind = tuple(f"{layer}." for layer in type(cut).behind)
    kept = {key: value for key, value in whole.state_dict().items() if not key.startswith(behind)}
    assert kept and len(kept) < len(whole.state_dict())
    assert kept.keys() == cut.state_dict().keys()
    assert all(torch.equal(value, cut.state_dict()[key]) for key, value in kept.items())
    images = torch.rand(4, 3, 32, 32)
    inputs = cut.eval().features(images) if cut.frozen else images
    pooled = cut.eval()(inputs)
    assert pooled.shape == (4, width) and torch.isfinite(pooled).all() and width == cut.width
    for layer in type(whole).behind:
        pooled = getattr(whole.eval(), layer)(pooled)
    assert torch.equal(pooled, whole(inputs)), "the layers behind the features are all that was taken away"
    if cut.wraps:
        assert all(key.startswith(f"{cut.wraps}.") for key in kept)


@pytest.mark.parametrize("model", ["test_resnet", "test_vit", "mobilenetv3_small_050"])
@pytest.mark.parametrize("name", ["timm", "timm_frozen"])
def test_the_width_of_a_timm_model_is_that_of_its_features(name: str, model: str) -> None:
    encoder = ENCODERS[name].build(channels=3, side=32, dim=4, parameters={"model": model, "pretrained": False})
    features = encoder.eval().features(torch.rand(2, 3, 32, 32))
    assert features.shape == (2, encoder.width)
    assert encoder(features if encoder.frozen else torch.rand(2, 3, 32, 32)).shape == (2, 4)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("side", [16, 28, 32, 47, 64, 96, 128, 224])
def test_the_small_nets_take_any_side(name: str, side: int) -> None:
    assert build(name, 3, side)(torch.rand(2, 3, side, side)).shape == (2, 12)


@pytest.mark.parametrize("name", SMALL)
def test_equal_seeds_give_equal_weights(name: str) -> None:
    first, second = build(name, 3).state_dict(), build(name, 3).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_the_default_is_the_first_of_the_menu_at_its_own_rate() -> None:
    default = MetricLearningConfig()
    assert default.encoder.name == next(iter(ENCODERS))
    assert default.learning_rate == ENCODERS[default.encoder.name].learning_rate


@pytest.mark.parametrize("channels", [1, 3])
def test_embeddings_of_the_default_share_no_direction(channels: int) -> None:
    """Nearly grey images look alike in pixels; a batch of them is still centred, with equal spread in every number."""
    encoder = build(MetricLearningConfig().encoder.name, channels)
    rows = encoder(0.5 + 0.05 * torch.rand(64, channels, 32, 32)).double()
    torch.testing.assert_close(rows.mean(0), torch.zeros(12).double(), atol=1e-5, rtol=0)
    torch.testing.assert_close(rows.var(0, unbiased=False), torch.ones(12).double(), atol=0.05, rtol=0)
    unit = torch.nn.functional.normalize(rows, dim=1)
    assert abs((unit @ unit.T).mean()) < 0.05


@pytest.mark.parametrize("model", ["no_such_net", "local-dir:/etc", "../resnet18"])
def test_only_timms_own_names_are_built(model: str) -> None:
    with pytest.raises(UserError, match="is not the name of a timm model"):
        ENCODERS["timm"].build(channels=3, side=32, dim=8, parameters={"model": model, "pretrained": False})
