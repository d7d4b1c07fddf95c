"""Frozen batch norm and the rate of the backbone: for every encoder, in every kind of run that trains one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.finetuning.world import SIDE, mend_config
from tests.tiny import opened, tiny_config, to_end
from tests.training.reopened import reopened
from trainers.config import RunConfig
from trainers.encoders import ENCODERS, Encoder
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training.loop import Loop

SMALL = Choice(name="conv4", parameters={"width": 8})
ENCODER = {
    "conv4": SMALL,
    "small_conv": Choice(name="small_conv", parameters={"width": 8}),
    "timm": Choice(name="timm", parameters={"model": "test_resnet", "pretrained": False}),
}
TRAIN_ENCODERS = ("metric_learning", "contrastive", "finetuning")
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, images: Path) -> RunFolder:
    """A trained run of metric learning, whose statistics are no longer those of new layers."""
    alike = tiny_config(images, "supcon_out", steps=3)
    data = dataclasses.replace(alike.data, image_size=SIDE)  # type: ignore[attr-defined]
    loop = opened(tmp_path_factory.mktemp("runs"), dataclasses.replace(alike, data=data, encoder=SMALL))
    return to_end(loop).folder


def config_of(kind: str, images: Path, scenes: Path, **changes: object) -> RunConfig:
    """Plain gradient descent, so that a step is the rate times the gradient."""
    plain = {"optimiser": "sgd", "momentum": 0.0, "weight_decay": 0.0, "warm_up": 0, "schedule": "constant"}
    plain |= {"learning_rate": 0.01, "steps": 1}
    if kind == "finetuning":
        towers = Choice(name="two_towers", parameters={"encoder": "conv4:width=8", "dim": 16})
        return mend_config(scenes, {"removed": False}, model=towers, **(plain | changes))
    alike = tiny_config(images, "triplet", **plain)
    metric = dataclasses.replace(alike, data=dataclasses.replace(alike.data, image_size=SIDE), encoder=SMALL)
    if kind == "metric_learning":
        return dataclasses.replace(metric, **changes)
    method = Choice(name="moco_v2", parameters={"queue": 8, "momentum": 0.5})
    more = {"methods": (method,), "batch": 8, "splits": 2, "head_steps": 0, "dim": 8, "probe_size": 20}
    values = {name: getattr(metric, name) for name in ("data", "encoder", "minutes", "device", "threads")}
    values["data"] = dataclasses.replace(values["data"], held_out="images")
    return ContrastiveConfig(**(values | more | plain | changes))


def encoders(loop: Loop) -> list[Encoder]:
    """Of the first arm, a momentum encoder included."""
    return [part for net in loop.arms[0].networks.values() for part in net.modules() if isinstance(part, Encoder)]


def weights(loop: Loop) -> dict[str, Tensor]:
    return {
        f"{network}.{name}": value.detach().clone()
        for network, net in loop.arms[0].networks.items()
        for name, value in net.named_parameters()
        if value.requires_grad
    }


def in_front(loop: Loop) -> set[str]:
    """The names that :func:`weights` gives to what lies in front of the head."""
    prefix = loop.config.encoder_prefix.removesuffix("/").replace("/", ".").removesuffix(".")
    behind = () if loop.config.kind != "metric_learning" else encoders(loop)[0].behind
    own = {name for name in weights(loop) if name.startswith(f"{prefix}.")}
    return {name for name in own if not name.startswith(tuple(f"{prefix}.{layer}." for layer in behind))}


def statistics(net: Encoder) -> dict[str, Tensor]:
    return {
        name: value.clone()
        for name, value in net.state_dict().items()
        if name.endswith(STATISTICS) and not name.startswith(net.behind)
    }


@pytest.mark.parametrize("name", ENCODER)
def test_frozen_layers_do_not_see_the_batch_and_their_gains_are_trained(name: str) -> None:
    torch.manual_seed(0)
    encoder = ENCODERS[name].build(channels=3, side=32, dim=12, parameters=ENCODER[name].parameters)
    encoder(torch.rand(8, 3, 32, 32))  # statistics other than 0 and 1
    encoder.frozen_norm = True
    known, images = statistics(encoder), torch.rand(8, 3, 32, 32)
    assert known and encoder.train() is encoder and encoder.training
    shown = []
    hook = encoder.head.register_forward_pre_hook(lambda _net, inputs: shown.append(inputs[0]))
    encoder(images).square().sum().backward()
    encoder(images[:2])
    hook.remove()
    assert torch.allclose(shown[0][:2], shown[1], atol=1e-5), "features do not depend on the rest of the batch"
    assert all(torch.equal(value, known[key]) for key, value in statistics(encoder).items())
    gains = [layer.weight for layer in encoder.batch_norms()]
    assert gains and any(gain.grad is not None and gain.grad.abs().sum() > 0 for gain in gains)
    others = [part for part in encoder.modules() if part is not encoder and part not in encoder.batch_norms()]
    assert all(part.training for part in others), "dropout, and what normalises behind the features, trains"
    encoder.frozen_norm = False
    encoder.train()(images)
    assert not all(torch.equal(value, known[key]) for key, value in statistics(encoder).items())


@pytest.mark.parametrize("kind", TRAIN_ENCODERS)
def test_a_run_keeps_the_statistics_it_starts_with_and_resumes_to_the_bit(
    kind: str, images: Path, scenes: Path, start: RunFolder
) -> None:
    config = config_of(kind, images, scenes, start=start.id, frozen_norm=True, backbone_rate=0.5, steps=6)
    whole, cut = (opened(start.path.parent, config) for _ in range(2))
    before, first = [statistics(net) for net in encoders(whole)], weights(whole)
    assert all(float((value - 1).abs().max()) > 1e-3 for value in before[0].values()), "they are learnt ones"
    assert "frozen batch norm: 4 layers keep" in (whole.folder.path / "log.txt").read_text()
    again = to_end(reopened(cut))
    to_end(whole)
    for net, known in zip(encoders(whole), before, strict=True):
        assert all(torch.equal(value, known[name]) for name, value in statistics(net).items())
    assert not torch.equal(*(all_[sorted(in_front(whole))[0]] for all_ in (first, weights(whole))))
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(whole).items())


@pytest.mark.parametrize("kind", TRAIN_ENCODERS)
def test_the_backbone_moves_by_its_rate_and_all_else_as_before(
    kind: str, tmp_path: Path, images: Path, scenes: Path
) -> None:
    moved = {}
    for rate in (1.0, 0.25, 0.0):
        loop = opened(tmp_path, config_of(kind, images, scenes, backbone_rate=rate))
        before = weights(loop)
        after = weights(to_end(loop))
        moved[rate] = {name: after[name] - value for name, value in before.items()}
    slow = in_front(loop)
    rest = moved[1.0].keys() - slow
    assert slow and rest and any(moved[1.0][name].abs().sum() > 0 for name in slow)
    for name in rest:
        assert torch.equal(moved[0.25][name], moved[1.0][name]) and torch.equal(moved[0.0][name], moved[1.0][name])
    for name in slow:
        assert torch.allclose(moved[0.25][name], 0.25 * moved[1.0][name], atol=1e-7), name
        assert not moved[0.0][name].any()
