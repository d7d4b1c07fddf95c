"""How much memory a metric-learning run will take, in bytes; an estimate on the safe side.

total = program + images + encoders + activations + memories + pairs + evaluation

program      the interpreter and its libraries
images       N x C x S x S bytes of both splits, at most what may stay in memory (RANKSCOPE_MEMORY_GB)
encoders     per loss: weights, gradients and Adam's two moments, 4 bytes each, and the copy that is checkpointed
activations  per view of a batch: what every layer hands to the next, kept for the backward pass; losses take turns
memories     per loss: K x D x 4 bytes and K x L x 8 of labels; twice while it is read, once more when checkpointed
pairs        of one loss at a time: B x (B + K) similarities with their slopes, orders and masks; and for losses
             that rank with sigmoids the block of one query, P x (B + K) with P its positives; the losses on triplets
             look at all of them, B x (B + K) x (B + K)
evaluation   P probe images as float, twice, and test embeddings
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from trainers.data import settings
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES, LossDescriptor
from trainers.training.memory_estimate import COPIES, FLOAT, Footprint, Shape

BLOCK_BYTES = 8
"""Of one (positive, item) pair of the sigmoid losses."""
_BLOCK_PAIRS = 1 << 20
_STATE = 4  # weights, gradients, two moments
_LEVELS = 3
_EVALUATED = 256


def footprint(config: MetricLearningConfig, shape: Shape | None = None) -> Footprint:
    """Estimate a run.

    Args:
        config: a checked configuration.
        shape: of its images; None: guessed from the configuration.

    Raises:
        UserError: the encoder cannot be made.
    """
    known = shape or _guess(config)
    weights, kept, widest = _encoder(
        config.encoder.name, tuple(sorted(config.encoder.parameters.items())), known.channels, known.side, config.dim
    )
    descriptors = [LOSSES[choice.name] for choice in config.losses]
    arms, batch = len(descriptors), config.classes_per_batch * config.images_per_class
    views = max(one.views for one in descriptors)
    pixels = known.channels * known.side**2
    proxies = sum(one.proxies for one in descriptors) * known.classes * config.dim
    rings = [(config.memory or one.memory) if one.gallery else 0 for one in descriptors]
    return Footprint(
        images=min(known.images * pixels, settings.memory_bytes()),
        encoders=FLOAT * COPIES * (arms * weights + proxies),
        activations=FLOAT * batch * views * (kept + 3 * pixels),
        memories=sum(3 * ring * (FLOAT * config.dim + 8 * _LEVELS) for ring in rings),
        pairs=max(
            _pairs(one, batch * views, ring, known.classes) for one, ring in zip(descriptors, rings, strict=True)
        ),
        evaluation=FLOAT * (2 * config.probe_size * pixels + known.images * config.dim + 2 * _EVALUATED * widest),
    )


def _guess(config: MetricLearningConfig) -> Shape:
    """Before the set is opened: as many images as may be read, as large as the drawn ones."""
    from trainers.data.labelled.datasets.drawn import IMAGE_SIZE, IMAGES_PER_TEST_POT, IMAGES_PER_TRAIN_POT

    drawn = 96 * IMAGES_PER_TRAIN_POT + 80 * IMAGES_PER_TEST_POT
    images = min(drawn, 2 * config.data.max_images) if config.data.source == "drawn" else 2 * config.data.max_images
    return Shape(
        images=images,
        channels=3,
        side=config.data.image_size or IMAGE_SIZE,
        classes=config.classes_per_batch,
    )


def _pairs(loss: LossDescriptor, batch: int, ring: int, classes: int) -> int:
    items = batch + ring
    positives = max(1, items // max(classes, 1))
    block = max(_BLOCK_PAIRS, positives * items)
    needed = loss.pair_bytes * batch * items + BLOCK_BYTES * block
    if loss.lists_triplets:  # a byte for every anchor, item and item, three int64 for those that are one
        needed += batch * items * (items + 24 * positives)
    return needed


@lru_cache(maxsize=64)
def _encoder(
    name: str, parameters: tuple[tuple[str, Any], ...], channels: int, side: int, dim: int
) -> tuple[int, int, int]:
    """Weights, numbers that one image leaves behind for the backward pass, and the widest layer; nothing is loaded.

    A network of a library may be of any size: it is made and run on torch's ``meta`` device, which has shapes and no
    memory but takes a second to be imported. Our own are small.
    """
    values: Mapping[str, Any] = dict(parameters)
    library = "pretrained" in getattr(ENCODERS[name].parameters, "__dataclass_fields__", {})
    if library:
        values = {**values, "pretrained": False}
    with torch.device("meta" if library else "cpu"):
        net = ENCODERS[name].build(channels=channels, side=side, dim=dim, parameters=values)
        sizes = _layers(net, torch.zeros(2, channels, side, side))
    total = sum(weight.numel() for weight in net.parameters())
    trained = sum(weight.numel() for weight in net.parameters() if weight.requires_grad)
    widest = max(sizes, default=0)
    if net.frozen:  # its features are computed once, without gradient; then only the head is kept
        return trained + total // _STATE, 4 * dim, widest
    return trained, sum(sizes), widest


def _layers(net: nn.Module, images: torch.Tensor) -> list[int]:
    """Numbers per image that each innermost layer puts out."""
    sizes: list[int] = []

    def note(_layer: nn.Module, _inputs: object, output: object) -> None:
        if isinstance(output, torch.Tensor):
            sizes.append(output.numel() // len(images))

    hooks = [layer.register_forward_hook(note) for layer in net.modules() if not list(layer.children())]
    try:
        net.train()
        with torch.no_grad():
            (net.features if net.frozen else net)(images)  # type: ignore[attr-defined]
    finally:
        for hook in hooks:
            hook.remove()
    return sizes
