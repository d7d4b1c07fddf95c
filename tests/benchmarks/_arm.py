"""What benchmarks of a step train: an encoder with random weights, an arm as a run trains it, and a batch of noise."""

from __future__ import annotations

from typing import Any

import torch

from trainers.encoders import ENCODERS
from trainers.encoders.base import Encoder
from trainers.kinds.metric_learning.batches import ImageBatch
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.parameters import parse_choice
from trainers.training.compiling import compile_encoders
from trainers.training.memory import checkpointed, encode_in_chunks
from trainers.training.stage import Stage

EACH = 4  # images of a class


def random_encoder(written: str, side: int, dim: int) -> Encoder:
    """An encoder of the catalogue for images of ``side`` pixels."""
    name, parameters = parse_choice(written, ENCODERS)
    parameters |= {"pretrained": False} if ENCODERS[name].make.wraps else {}
    parameters |= {"side": side} if "vit" in written and side != 224 else {}
    return ENCODERS[name].build(channels=3, side=side, dim=dim, parameters=parameters)


def arm_of(encoder: str, loss: str, images: int, side: int, dim: int, device: str = "cpu", **settings: Any) -> LossArm:
    """An arm for batches of so many images; ``settings``: of metric learning."""
    torch.manual_seed(0)
    config, classes = MetricLearningConfig(**settings), images // EACH
    net = random_encoder(encoder, side, dim)
    module = LOSSES[loss].build(num_classes=classes, dim=dim, class_labels=torch.arange(classes)[:, None])
    arm = LossArm(0, LOSSES[loss], module, net, torch.device(device))
    if config.channels_last == "off":
        arm.lay_out(torch.contiguous_format)
    if config.checkpointing:
        arm.checkpointed = checkpointed(net)
    if config.compiled:
        compile_encoders(net)
    encode_in_chunks(net, config.chunk)
    arm.begin(Stage.of(config))
    return arm


def noise(images: int, side: int, device: str = "cpu", processes: int = 1) -> ImageBatch:
    """One process's images, of two views, with the labels of all."""
    rows = torch.arange(images * processes)
    pixels = torch.rand(images, 3, side, side, device=device)
    return ImageBatch(views=(pixels, pixels), labels=rows[:, None] // EACH, rows=rows, step=0)
