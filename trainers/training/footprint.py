"""Estimates how much memory a run will take, in bytes, on the safe side."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import nn

from trainers.config import DataChoice
from trainers.data import settings
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import UserError
from trainers.parameters import Choice, entry

FLOAT = 4
COPIES = 7
"""Of an encoder: weights, gradients and two moments of the optimizer, and what is checkpointed."""
PROGRAM = 850_000_000
"""Measured: a trainer that has imported everything and loaded nothing."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The shape of the images, as far as it is known.

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
            "memories": "the cross-batch memories (memory times embedding size, once per loss)",
            "pairs": "the comparisons of the batch with the batch and the cross-batch memory",
            "evaluation": "the images on the maps",
        }
        return words[max(words, key=lambda name: getattr(self, name))]


def encoded_at_once(images: int, chunk: int | None) -> int:
    """Count the images of a batch that are in the encoder at once; ``chunk`` as :class:`trainers.config.RunConfig`."""
    return min(images, chunk or images)


def check_fits(needed: Footprint) -> None:
    """Refuse a run that turned out larger than :func:`trainers.data.settings.run_bytes`, before it takes the memory.

    Raises:
        UserError: with the estimate.
    """
    most = settings.run_bytes()
    if most is not None and needed.total > most:
        raise UserError(too_large(needed, most))


def too_large(needed: Footprint, most: float) -> str:
    """Write the message that refuses a run as too large."""
    return (
        f"This run would take about {needed.total / settings.GB:.1f} GB of memory, and a run may take "
        f"{most / settings.GB:.1f} GB here now. Most of it goes to {needed.largest}; make that smaller."
    )


_STATE = 4  # weights, gradients, two moments


def guessed_shape(data: DataChoice, *, classes: int) -> Shape:
    """Guess a shape before the dataset is opened: as many images as may be read, or as those have that come with the
    program, and as large as the drawn ones."""
    from trainers.data.labelled.datasets import groceries
    from trainers.data.labelled.datasets.drawn import IMAGE_SIZE, IMAGES_PER_TEST_POT, IMAGES_PER_TRAIN_POT

    most, drawn = 2 * data.max_images, 96 * IMAGES_PER_TRAIN_POT + 80 * IMAGES_PER_TEST_POT
    known = {"drawn": drawn, groceries.NAME: groceries.IMAGES}
    return Shape(
        images=min(most, known.get(data.source.partition(":")[0], most)),
        channels=3,
        side=data.image_size or IMAGE_SIZE,
        classes=classes,
    )


def encoder_sizes(encoder: Choice, channels: int, side: int, dim: int) -> tuple[int, int, int]:
    """Count weights, numbers that one image leaves behind for the backward pass, and the widest layer; nothing is
    loaded.

    Raises:
        UserError: the encoder cannot be made.
    """
    return _sizes(encoder.name, tuple(sorted(encoder.parameters.items())), channels, side, dim)


@lru_cache(maxsize=64)
def _sizes(
    name: str, parameters: tuple[tuple[str, Any], ...], channels: int, side: int, dim: int
) -> tuple[int, int, int]:
    """See :func:`encoder_sizes`."""
    net = without_values(Choice(name=name, parameters=dict(parameters)), channels=channels, side=side, dim=dim)
    with torch.device(next(net.parameters()).device):
        sizes = _layers(net, torch.zeros(2, channels, side, side))
    total = sum(weight.numel() for weight in net.parameters())
    trained = sum(weight.numel() for weight in net.parameters() if weight.requires_grad)
    widest = max(sizes, default=0)
    if net.frozen:  # its features are computed once, without gradient; then only the head is kept
        return trained + total // _STATE, 4 * dim, widest
    return trained, sum(sizes), widest


def feature_width(encoder: Choice, channels: int, side: int) -> int:
    """Count the numbers of an image's features, in front of the encoder's head; nothing is loaded.

    Raises:
        UserError: the encoder cannot be made.
    """
    return _width(encoder.name, tuple(sorted(encoder.parameters.items())), channels, side)


@lru_cache(maxsize=64)
def _width(name: str, parameters: tuple[tuple[str, Any], ...], channels: int, side: int) -> int:
    """See :func:`feature_width`."""
    return without_values(
        Choice(name=name, parameters=dict(parameters)), channels=channels, side=side, dim=2
    ).without_head()


def without_values(encoder: Choice, *, channels: int, side: int, dim: int) -> Encoder:
    """Build an encoder whose weights do not matter; nothing is loaded.

    A network of a library may be of any size: it is made on torch's ``meta`` device, which has shapes and no memory but
    takes a second to be imported. Our own are small.

    Raises:
        UserError: it cannot be made.
    """
    if not ENCODERS[encoder.name].make.wraps:
        return unloaded(encoder, channels=channels, side=side, dim=dim)
    import torch._dynamo

    with torch.device("meta"):
        return unloaded(encoder, channels=channels, side=side, dim=dim)


def unloaded(encoder: Choice, *, channels: int, side: int, dim: int) -> Encoder:
    """Build an encoder with weights that are to be replaced: a library's are not loaded.

    Raises:
        UserError: it cannot be made.
    """
    descriptor, values = entry(ENCODERS, encoder.name, "encoder"), dict(encoder.parameters)
    if descriptor.make.wraps:
        values["pretrained"] = False
    return descriptor.build(channels=channels, side=side, dim=dim, parameters=values)


def _layers(net: Encoder, images: torch.Tensor) -> list[int]:
    """Count the numbers per image that each innermost layer puts out."""
    sizes: list[int] = []

    def note(_layer: nn.Module, _inputs: object, output: object) -> None:
        if isinstance(output, torch.Tensor):
            sizes.append(output.numel() // len(images))

    hooks = [layer.register_forward_hook(note) for layer in net.modules() if not list(layer.children())]
    try:
        net.train()
        with torch.no_grad():
            (net.features if net.frozen else net)(images)
    finally:
        for hook in hooks:
            hook.remove()
    return sizes
