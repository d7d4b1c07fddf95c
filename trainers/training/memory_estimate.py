"""How much memory a run will take, in bytes, said before it starts; an estimate on the safe side.

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

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from trainers.config import RunConfig
from trainers.data import settings
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.losses import LOSSES, LossDescriptor

PROGRAM = 850_000_000
"""Measured: a trainer that has imported everything and loaded nothing."""
BLOCK_BYTES = 8
"""Of one (positive, item) pair of the sigmoid losses."""
_BLOCK_PAIRS = 1 << 20
_PAIR_BYTES = 60  # of a photo and a sentence
_STATE = 4  # weights, gradients, two moments
_LEVELS = 3
_FLOAT = 4
_EVALUATED = 256


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is known of the images.

    Attributes:
        images: of both splits.
        channels, side: of each image.
        classes: of the training split.
    """

    images: int
    channels: int
    side: int
    classes: int


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes by cause; see the module."""

    program: int = PROGRAM
    images: int = 0
    encoders: int = 0
    activations: int = 0
    memories: int = 0
    pairs: int = 0
    evaluation: int = 0

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(dataclasses.astuple(self))

    @property
    def largest(self) -> str:
        """What takes most, in words."""
        words = {
            "program": "the program itself",
            "images": "the images",
            "encoders": "the encoders and their optimisers, one per loss",
            "activations": "the batch inside the encoder (images per batch)",
            "memories": "the memories of embeddings (memory times embedding size, once per loss)",
            "pairs": "the comparisons of the batch with the batch and the memory",
            "evaluation": "the images on the maps",
        }
        return words[max(words, key=lambda name: getattr(self, name))]


def footprint(config: RunConfig, shape: Shape | None = None) -> Footprint:
    """Estimate a run.

    Args:
        config: a checked configuration.
        shape: of its images; None: guessed from the configuration.

    Raises:
        UserError: the encoder cannot be made.
    """
    if config.mend is not None:
        return _mending(config)
    known = shape or _guess(config)
    weights, kept, widest = _encoder(
        config.encoder, tuple(sorted(config.encoder_parameters.items())), known.channels, known.side, config.dim
    )
    descriptors = [LOSSES[choice.name] for choice in config.losses]
    arms, batch = len(descriptors), config.classes_per_batch * config.images_per_class
    views = max(one.views for one in descriptors)
    pixels = known.channels * known.side**2
    proxies = sum(one.proxies for one in descriptors) * known.classes * config.dim
    rings = [(config.memory or one.memory) if one.gallery else 0 for one in descriptors]
    return Footprint(
        images=min(known.images * pixels, settings.memory_bytes()),
        encoders=_FLOAT * (_STATE + 3) * (arms * weights + proxies),
        activations=_FLOAT * batch * views * (kept + 3 * pixels),
        memories=sum(3 * ring * (_FLOAT * config.dim + 8 * _LEVELS) for ring in rings),
        pairs=max(
            _pairs(one, batch * views, ring, known.classes) for one, ring in zip(descriptors, rings, strict=True)
        ),
        evaluation=_FLOAT * (2 * config.probe_size * pixels + known.images * config.dim + 2 * _EVALUATED * widest),
    )


def check_fits(config: RunConfig, shape: Shape) -> None:
    """Refuse a run that turned out larger than :func:`trainers.data.settings.run_bytes`, before it takes the memory.

    Raises:
        UserError: with the estimate.
    """
    most = settings.run_bytes()
    if most is None:
        return
    needed = footprint(config, shape)
    if needed.total > most:
        raise UserError(too_large(needed, most))


def too_large(needed: Footprint, most: float) -> str:
    """The sentence of a refusal."""
    return (
        f"This run would take about {needed.total / settings.GB:.1f} GB of memory, and a run may take "
        f"{most / settings.GB:.1f} GB here now. Most of it goes to {needed.largest}; make that smaller."
    )


def _guess(config: RunConfig) -> Shape:
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


def _mending(config: RunConfig) -> Footprint:
    """A model, its copies and its batch, from the size that its descriptor states."""
    assert config.mend is not None
    from trainers.image_text.models import MODELS

    size = MODELS[config.mend.model.name].size
    arms, batch = len(config.mend.recipes), config.mend.batch
    photos = config.mend.scenes.limit or _PHOTOS
    return Footprint(
        images=min((1 + arms) * photos * 3 * size.side**2, settings.memory_bytes()),
        encoders=_FLOAT * (_STATE + 3) * (arms + 1) * size.weights,
        activations=_FLOAT * batch * size.kept,
        pairs=_PAIR_BYTES * batch * batch,
        evaluation=_FLOAT * (config.mend.queries + config.mend.gallery) * _EMBEDDED,
    )


_PHOTOS = 5000
_EMBEDDED = 1024
"""Numbers per embedding of an image-text model, at most."""
