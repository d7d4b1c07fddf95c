"""What can be chosen for a timm model: pooling, projection, trained blocks, rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch

from trainers.encoders import ENCODERS
from trainers.encoders import published as hand
from trainers.encoders.timm_models import blocks, principal
from trainers.errors import ParameterError
from trainers.parameters import Choice

TINY = {"pretrained": False, "model": "test_vit"}
MAPS = ("test_resnet", "test_convnext", "test_vit")


def build(name: str = "timm", **parameters: Any) -> Any:
    torch.manual_seed(0)
    return ENCODERS[name].build(channels=3, side=32, dim=4, parameters=TINY | parameters)


@pytest.mark.parametrize("model", MAPS)
@pytest.mark.parametrize("pooling", ["average", "gem"])
def test_means_over_places(model: str, pooling: str) -> None:
    encoder = build(model=model, pooling=pooling).eval()
    images = torch.rand(2, 3, 160, 160)
    last = encoder.backbone.forward_features(encoder.normalise(images)).detach().double().numpy()
    if last.ndim == 3:
        places = last[:, encoder.backbone.num_prefix_tokens :]
    else:
        places = last.reshape(*last.shape[:2], -1).swapaxes(1, 2)
    power = {"average": 1.0, "gem": 3.0}[pooling]
    floor = -np.inf if pooling == "average" else 1e-6
    expected = np.mean(np.maximum(places, floor) ** power, axis=1) ** (1 / power)
    np.testing.assert_allclose(encoder.features(images).detach().numpy(), expected, rtol=1e-4, atol=1e-6)
    assert encoder.width == expected.shape[1]


def test_the_class_token_is_taken_where_there_is_one() -> None:
    encoder = build(pooling="cls").eval()
    images = torch.rand(2, 3, 160, 160)
    tokens = encoder.backbone.forward_features(encoder.normalise(images))
    assert torch.equal(encoder.features(images), tokens[:, 0])
    with pytest.raises(ParameterError, match="takes a class token"):
        build(model="test_resnet", pooling="cls")(images)


def test_a_model_of_a_fixed_size_is_made_for_the_side_that_is_asked_for() -> None:
    assert build().backbone.patch_embed.img_size == (160, 160)
    asked = ENCODERS["timm"].build(channels=3, side=32, dim=4, parameters=TINY | {"side": 64})
    assert asked.backbone.patch_embed.img_size == (64, 64)
    assert asked(torch.rand(2, 3, 32, 32)).shape == (2, 4)


@pytest.mark.parametrize("last", [0, 1, 3, 100])
def test_the_last_blocks_alone_are_trained(last: int) -> None:
    encoder = build(model="test_resnet", last_blocks=last).train()
    rows = blocks(encoder.backbone)
    assert sum(map(len, rows)) == len(list(encoder.backbone.parameters()))
    trained = [all(weight.requires_grad for weight in row) for row in rows]
    assert trained == [number >= len(rows) - last for number in range(len(rows))]
    assert encoder.head.weight.requires_grad
    before = {name: value.clone() for name, value in encoder.backbone.state_dict().items()}
    encoder(torch.rand(4, 3, 32, 32)).sum().backward()
    changed = {name for name, value in encoder.backbone.state_dict().items() if not torch.equal(value, before[name])}
    assert bool(changed) == (last > 0), "statistics of blocks that are not trained stay"
    assert not any(name.startswith(("conv1", "bn1", "stem")) for name in changed) or last == 100


def test_rates_fall_from_the_head_to_the_stem() -> None:
    encoder = build(layer_decay=0.5)
    rates, rows = encoder.rates(), blocks(encoder.backbone)
    assert [rates[row[0]] for row in rows] == [0.5 ** (len(rows) - number) for number in range(len(rows))]
    assert encoder.head.weight not in rates and len(rates) == len(list(encoder.backbone.parameters()))
    assert build().rates() == {}


@pytest.mark.parametrize(("count", "width", "dim"), [(50, 8, 3), (50, 8, 8), (6, 30, 5)])
def test_a_projection_begins_with_principal_components(count: int, width: int, dim: int) -> None:
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(count, width)) * np.arange(1, width + 1))
    linear = torch.nn.Linear(width, dim).double()
    principal(linear, rows)
    centred = rows.numpy() - rows.numpy().mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    expected = centred @ axes[:dim].T
    got = linear(rows).detach().numpy()
    np.testing.assert_allclose(np.abs(got), np.abs(expected), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(got.mean(0), 0, atol=1e-9)
    assert (linear.weight.gather(1, linear.weight.abs().argmax(1, keepdim=True)) > 0).all()


def test_too_few_images_for_the_components_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 3"):
        principal(torch.nn.Linear(8, 4), torch.rand(4, 8))


def test_components_need_a_linear_head() -> None:
    with pytest.raises(ParameterError, match="hidden layer of 512"):
        build("timm_frozen", projection="pca")
    assert build("timm_frozen", projection="pca", hidden=0).fitted


def test_the_encoder_at_hand_is_the_one_whose_weights_are_cached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub_cache: Path
) -> None:
    monkeypatch.setattr(hand, "reachable", lambda: False)
    assert hand.at_hand("cpu") is None
    model, side = hand.CHOICES["cuda"]
    repository = tmp_path / f"models--timm--{model}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "snapshots" / ("a" * 40)).mkdir(parents=True)
    (repository / "snapshots" / ("a" * 40) / "model.safetensors").write_bytes(b"")
    expected = Choice(name="timm_frozen", parameters={"model": model, "side": side, "hidden": 0})
    found = hand.at_hand("cpu")
    assert found == hand.AtHand(encoder=expected, cached=True) and "on this machine" in found.sentence


def test_else_what_can_be_fetched_is_proposed(monkeypatch: pytest.MonkeyPatch, hub_cache: Path) -> None:
    monkeypatch.setattr(hand, "reachable", lambda: True)
    found = hand.at_hand("cpu")
    assert found is not None and not found.cached and found.encoder.parameters["model"] == hand.CHOICES["cpu"][0]
    assert all(timm.is_model(name.split(".")[0]) for name, _ in hand.CHOICES.values())
