"""An encoder with its projection head, which is thrown away after training."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from trainers.devices.precision import autocast
from trainers.distributed.gather import own_draws, whole, whole_statistics


class Projected(nn.Sequential):
    """``backbone``, from images to features ``[N, F]``, and ``projector``, from those to raw ``[N, D]``."""

    backbone: nn.Module
    projector: nn.Module

    def __init__(self, backbone: nn.Module, projector: nn.Module) -> None:
        super().__init__(OrderedDict(backbone=backbone, projector=projector))


def projector(features: int, dim: int, *, mlp: bool) -> nn.Module:
    """Build a linear layer, or as in MoCo v2, SimCLR and SupCon two with a ReLU between them, the first F to F."""
    last = nn.Linear(features, dim)
    return nn.Sequential(nn.Linear(features, features), nn.ReLU(), last) if mlp else last


@torch.no_grad()
def started_again(layer: nn.Linear, seed: int) -> None:
    """Draw the weights of a layer as at first, from ``seed``."""
    torch.manual_seed(seed)
    layer.reset_parameters()


@contextmanager
def first_output(net: nn.Module) -> Iterator[list[Tensor]]:
    """Yield a list that gets what ``net`` returns when it is called for the first time inside the block."""
    kept: list[Tensor] = []

    def keep(_net: nn.Module, _inputs: object, output: Tensor) -> None:
        if not kept:
            kept.append(output)

    hook = net.register_forward_hook(keep)
    try:
        yield kept
    finally:
        hook.remove()


def encode(net: nn.Module, images: Tensor) -> Tensor:
    """Encode images with ``net``, in the precision of :func:`trainers.devices.precision.autocast`.

    The result is float32 (or float64), and what is computed from it stays so: bfloat16 rounds a cosine near one by up
    to 0.002, which a temperature of 0.07 makes 0.03 of a logit.
    """
    with autocast(images.device):
        values = net(images)
    return full(values)


def full(values: Tensor) -> Tensor:
    """Return values in float32, those in float64 as they are."""
    return values if values.dtype == torch.float64 else values.float()


def encode_whole(net: nn.Module, images: Tensor, views: int = 1) -> Tensor:
    """Encode this process's images, and return the results of all processes, ``[N * views, D]`` in the order of one.

    Args:
        images: ``[n * views, ...]``, view after view; of every view those of :func:`trainers.distributed.group.share`.
    """
    with own_draws(images.device), whole_statistics():
        values = encode(net, images)
    return torch.cat([whole(part) for part in values.chunk(views)]) if views > 1 else whole(values)
