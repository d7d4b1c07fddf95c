"""Layouts, chunks and activation checkpointing: less memory or time, the same numbers."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.contracts.test_training import tensors
from tests.finetuning.world import mend_config
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end
from tests.training.test_precision import apart
from trainers.config import Config
from trainers.encoders import ENCODERS
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.training.memory import checkpointed, computed_again, encode_in_chunks

RESNET = Choice(name="timm", parameters={"model": "resnet18", "pretrained": False})
VIT = Choice(name="timm", parameters={"model": "vit_tiny_patch16_224", "pretrained": False, "side": 32})
SIDE, DIM = 32, 8


def gradient(encoder: Choice, *, fewer: bool, chunk: int | None = None) -> tuple[list[Tensor], list[Tensor], int]:
    """The gradient of a batch, the buffers after it, and how many numbers were kept for it, at the highest."""
    torch.manual_seed(0)
    net = ENCODERS[encoder.name].build(channels=3, side=SIDE, dim=DIM, parameters=encoder.parameters).train()
    encoders = checkpointed(net) if fewer else []
    assert bool(encoders) == fewer
    encode_in_chunks(net, chunk)
    kept = 0

    def keep(value: Tensor) -> Tensor:
        nonlocal kept
        kept += value.numel()
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        out = net(torch.rand(8, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1)))
    with computed_again(encoders):
        (out * torch.linspace(-1, 1, out.numel()).reshape(out.shape)).sum().backward()
    grads = [weight.grad for weight in net.parameters() if weight.grad is not None]
    return grads, list(net.buffers()), kept


@pytest.mark.parametrize("chunk", [None, 3])
@pytest.mark.parametrize("encoder", [RESNET, VIT], ids=["batch statistics", "layer normalisation"])
def test_checkpointing_has_the_same_gradient_to_the_bit(encoder: Choice, chunk: int | None) -> None:
    """Running statistics are those of one forward pass, too."""
    grads, buffers, kept = gradient(encoder, fewer=False, chunk=chunk)
    same, theirs, fewer = gradient(encoder, fewer=True, chunk=chunk)
    assert any(grad.any() for grad in grads)
    assert all(torch.equal(one, other) for one, other in zip(same, grads, strict=True))
    assert all(torch.equal(one, other) for one, other in zip(theirs, buffers, strict=True))
    assert chunk or fewer < 0.5 * kept


TOWERS = Choice(name="two_towers", parameters={"encoder": "timm:model=resnet18;pretrained=false", "side": 32})


@pytest.mark.long
def test_runs_of_every_kind_train_the_same_weights_with_checkpointing(
    tmp_path: Path, images: Path, scenes: Path
) -> None:
    configs = (
        tiny_config(images, "supcon", encoder="timm", encoder_parameters=RESNET.parameters, steps=2),
        tiny_contrastive(images, encoder=RESNET),
        mend_config(scenes, model=TOWERS, steps=2),
    )
    for config in configs:
        plain, fewer = (to_end(opened(tmp_path, replace(config, checkpointing=on))) for on in (False, True))
        assert len(fewer.arms[0].checkpointed) == (2 if config.kind == "contrastive" else 1)
        want, got = tensors(plain), tensors(fewer)  # type: ignore[arg-type]
        assert [name for name in want if not torch.equal(want[name], got[name])] == []


@pytest.mark.parametrize("channels_last", ["on", "off"])
def test_layouts_differ_by_rounding_and_are_those_asked_for(
    tmp_path: Path, images: Path, scenes: Path, channels_last: str
) -> None:
    for config in (tiny_config(images, "supcon"), tiny_contrastive(images), mend_config(scenes, steps=2)):
        config = replace(config, steps=2, optimiser="sgd", learning_rate=1e-3)
        loops = [opened(tmp_path, replace(config, channels_last=layout)) for layout in ("auto", channels_last)]
        layout = torch.channels_last if channels_last == "on" else torch.contiguous_format
        convolutions = [w for net in loops[1].arms[0].networks.values() for w in net.parameters() if w.ndim == 4]
        assert convolutions and all(weight.is_contiguous(memory_format=layout) for weight in convolutions)
        for loop in loops:
            loop.take_step()
        made = [[w.detach() for net in loop.arms[0].networks.values() for w in net.parameters()] for loop in loops]
        assert apart(made[1], made[0]) < 1e-4, config.kind


@pytest.mark.parametrize("config", [MetricLearningConfig(), ContrastiveConfig(), FinetuningConfig()])
def test_chunks_are_off_unless_asked_for_and_need_less_memory(config: Config) -> None:
    kind = kind_of(config)
    assert config.single.chunk is None and any("chunk" in section.names for section in kind.sections)
    off, chunked = (dataclasses.replace(config, chunk=size) for size in (0, 16))
    check(off)
    check(chunked)
    whole = kind.footprint(config)
    assert kind.footprint(off) == whole
    assert kind.footprint(chunked).activations < 0.5 * whole.activations
