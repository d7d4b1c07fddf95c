"""Estimates how much memory a run will take, in bytes, on the safe side; each kind of run sums up its own."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from trainers.data import settings
from trainers.errors import UserError

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
