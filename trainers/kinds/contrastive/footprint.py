"""The memory that contrastive training will take, in bytes; an estimate on the safe side.

total = program + images + encoders + activations + memories + pairs + evaluation

encoders     per method: weights, gradients and moments, a key encoder, and what is checkpointed
activations  of all views of a batch, or of the part or the chunk of it that a method takes at once; methods take turns
memories     per method: K x D x 4 bytes and 24 of each key's origin, K all images for a memory bank; once more when
             checkpointed
pairs        of one method at a time: logits, their gradient and their softmax, B x (1 + K) or (V B) x (V B)
evaluation   the probe, the bank and the features of all images
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainers.data import settings
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.training.footprint import (
    COPIES,
    FLOAT,
    Footprint,
    Shape,
    encoded_at_once,
    encoder_sizes,
    feature_width,
    guessed_shape,
)

if TYPE_CHECKING:
    from trainers.kinds.contrastive.methods import Needs

_LOGITS = 4
_EVALUATED = 256
_FOLLOWING = 2
"""Copies of an encoder without a gradient: its weights, and what is checkpointed."""


def footprint(config: ContrastiveConfig, shape: Shape | None = None) -> Footprint:
    """Estimate the footprint of a run.

    Args:
        config: a checked configuration.
        shape: of its images; None: guessed from the configuration.

    Raises:
        UserError: the encoder cannot be made.
    """
    known = shape or guessed_shape(config.data, classes=100)
    weights, kept, widest = encoder_sizes(config.encoder, known.channels, known.side, config.dim)
    width = feature_width(config.encoder, known.channels, known.side)
    head = width * (width + config.dim)
    pixels = known.channels * known.side**2
    methods = [(needs_of(choice, known.images), images_of(choice, config)) for choice in config.methods]
    copies = sum(COPIES * needs.trained + _FOLLOWING * needs.following for needs, _ in methods)
    encoded = max(kept * encoded_at_once(needs.views * images, config.chunk) for needs, images in methods)
    return Footprint(
        images=min(known.images * pixels, settings.memory_bytes()),
        encoders=FLOAT * copies * (weights + head),
        activations=FLOAT * (encoded + config.batch * max(needs.views for needs, _ in methods) * 3 * pixels),
        memories=sum(2 * needs.stored * (FLOAT * config.dim + 24) for needs, _ in methods),
        pairs=max(_LOGITS * FLOAT * _logits(needs, images) for needs, images in methods),
        evaluation=FLOAT * ((config.probe_size + 2000) * pixels + 2 * known.images * width)
        + FLOAT * 2 * _EVALUATED * widest,
    )


def needs_of(choice: Choice, images: int = 0) -> Needs:
    """Return a method's needs of memory with so many training images; the least for an unknown method."""
    from trainers.kinds.contrastive.methods import METHODS, Needs

    if choice.name not in METHODS:
        return Needs()
    descriptor = METHODS[choice.name]
    return descriptor.needs(descriptor.checked(choice.parameters), images)


def images_of(choice: Choice, config: ContrastiveConfig) -> int:
    """Count the images of an optimizer step of a method."""
    from trainers.kinds.contrastive.methods import METHODS

    known = METHODS.get(choice.name)
    return known.checked(choice.parameters).images(config.batch) if known else config.batch


def _logits(needs: Needs, images: int) -> int:
    """Count the logits of an optimizer step; too many for a method that encodes one view and keeps no keys."""
    if needs.compared:
        return images * max(1, needs.views - 1) * (1 + needs.compared)
    return (needs.views * images) ** 2
