"""The settings of a run once its images are known, or why they cannot be had, and its memory.

The memory that a metric-learning run will take, in bytes; an estimate on the safe side.

total = program + images + encoders + activations + memories + pairs + evaluation

program      the interpreter and its libraries
images       N x C x S x S bytes of both splits, at most what may stay in memory (RANKSCOPE_MEMORY_GB)
encoders     per loss: weights, gradients and Adam's two moments, 4 bytes each, and the copy that is checkpointed
activations  per view of a batch: what every layer hands to the next, kept for the backward pass (of a chunk at a time
             where there are chunks); losses take turns
memories     per loss: K x D x 4 bytes and K x L x 8 of labels; twice while it is read, once more when checkpointed
pairs        of one loss at a time: B x (B + K) similarities with their slopes, orders and masks; and for losses
             that rank with sigmoids the block of one query, P x (B + K) with P its positives; the losses on triplets
             look at all of them, B x (B + K) x (B + K)
evaluation   P probe images as float, twice, and test embeddings
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.config import DataChoice
from trainers.data import settings
from trainers.data.base import LoadedData
from trainers.data.roles import Roles
from trainers.encoders import ENCODERS
from trainers.kinds.base import Preset
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES, LossDescriptor
from trainers.metrics.names import check_size
from trainers.parameters import Choice, make
from trainers.samplers import SAMPLERS
from trainers.samplers.base import Sampler
from trainers.training.embedding import FEATURE_BATCH
from trainers.training.footprint import (
    COPIES,
    FLOAT,
    Footprint,
    Shape,
    check_fits,
    encoded_at_once,
    encoder_sizes,
    guessed_shape,
)

BLOCK_BYTES = 8
"""Of one (positive, item) pair of the sigmoid losses."""
_BLOCK_PAIRS = 1 << 20
_LEVELS = 3
_EVALUATED = 256


def footprint(config: MetricLearningConfig, shape: Shape | None = None) -> Footprint:
    """Estimate the footprint of a run.

    Args:
        config: a checked configuration.
        shape: of its images; None: guessed from the configuration.

    Raises:
        UserError: the encoder cannot be made.
    """
    known = shape or guessed_shape(config.data, classes=config.classes_per_batch)
    weights, kept, widest = encoder_sizes(config.encoder, known.channels, known.side, config.width)
    descriptors = [LOSSES[choice.name] for choice in config.losses]
    arms, batch = len(descriptors), config.classes_per_batch * config.images_per_class
    views = max(loss.views for loss in descriptors)
    pixels = known.channels * known.side**2
    proxies = sum(loss.proxies * (_LEVELS if loss.level_proxies else 1) for loss in descriptors)
    frozen = ENCODERS[config.encoder.name].frozen  # its features are computed from few images at a time
    seen, at_once = (FEATURE_BATCH, FEATURE_BATCH) if frozen else (config.probe_size, _EVALUATED)
    rings = [(config.memory or loss.memory) if loss.gallery else 0 for loss in descriptors]
    return Footprint(
        images=min(known.images * pixels, settings.memory_bytes()),
        encoders=FLOAT * COPIES * (arms * weights + proxies * known.classes * config.width),
        activations=FLOAT * (encoded_at_once(batch * views, config.chunk) * kept + batch * views * 3 * pixels),
        memories=sum(3 * ring * (FLOAT * config.width + 8 * _LEVELS) for ring in rings),
        pairs=max(
            _pairs(loss, batch * views, ring, known.classes) for loss, ring in zip(descriptors, rings, strict=True)
        ),
        evaluation=FLOAT * (2 * seen * pixels + known.images * config.width + 2 * at_once * widest),
    )


def _pairs(loss: LossDescriptor, batch: int, ring: int, classes: int) -> int:
    items = batch + ring
    positives = max(1, items // max(classes, 1))
    block = max(_BLOCK_PAIRS, positives * items)
    needed = loss.pair_bytes * batch * items + BLOCK_BYTES * block
    if loss.lists_triplets:  # a byte for every anchor, item and item, three int64 for those that are one
        related = items // 2 if loss.hierarchy else positives  # at a coarse level of two classes
        needed += batch * items * (items + 24 * related)
    return needed


@dataclass(frozen=True, kw_only=True)
class Suited:
    """Settings and images that suit each other.

    Attributes:
        labels: of the training images, int64 ``[N, L]``, finest first, whose finest classes are numbered without gaps.
        classes: how many finest ones there are.
        per_batch: classes of a batch.
        sampler: draws the batches.
        notes: sentences on what is not as it was asked for.
    """

    labels: Tensor
    classes: int
    per_batch: int
    sampler: Sampler
    notes: tuple[str, ...]


def suit(config: MetricLearningConfig, data: LoadedData) -> Suited:
    """Suit settings and images to each other.

    Raises:
        UserError: a metric, the sampler or the memory of this machine does not allow it.
    """
    classes, compact = torch.unique(data.train.labels[:, 0], return_inverse=True)
    labels = torch.cat([compact[:, None], data.train.labels[:, 1:]], dim=1)
    wanted = config.classes_per_batch
    per_batch = max(1, min(wanted, int((torch.bincount(compact) > 1).sum())))  # a class of one image has no pairs
    fewer = f"batch: {per_batch} classes, all there are to train on; {wanted} were asked for"
    roles = Roles.of(data.test.attributes, data.attributes)
    searched = None if roles is None else len(roles.searched)
    check_size(config.metrics, data.test.labels.shape[1], len(data.test), searched)
    _, channels, side, _ = data.train.images.shape
    images = len(data.train) + len(data.test)
    check_fits(footprint(config, Shape(images=images, channels=channels, side=side, classes=len(classes))))
    sampler = SAMPLERS[config.sampler].build(labels, per_batch, config.images_per_class, config.seed)
    notes = () if per_batch == wanted else (fewer,)
    return Suited(labels=labels, classes=len(classes), per_batch=per_batch, sampler=sampler, notes=notes)


_LOSSES = (Choice(name="contrastive"), Choice(name="smooth_ap"))
_THEN = "Then `python -m trainers background` measures how far each loss leans on it."


def _tied(bias: float, title: str, sentence: str) -> Preset:
    name = f"background_{bias:g}".replace(".", "")
    source = f"drawn:bias={bias:g}" if bias else "drawn"
    settings = {"data": DataChoice(source=source), "losses": _LOSSES}
    return Preset(name=name, title=title, sentence=f"{sentence} {_THEN}", settings=settings)


PRESETS = (
    _tied(0.0, "Backgrounds tied to no class", "A pair loss and a ranking loss where the background tells nothing."),
    _tied(0.5, "Backgrounds tied in half the images", "Half of the training images show their class's background."),
    _tied(0.9, "Backgrounds tied in nine of ten", "Nine of ten training images show the background of their class."),
)


def advice(config: MetricLearningConfig, classes_per_batch: int | None = None) -> list[str]:
    """List sentences, each once, about losses that the run's batches do not suit.

    Args:
        config: checked.
        classes_per_batch: as they turned out, where the images have fewer classes than were asked for.
    """
    from trainers.losses import LOSSES

    classes = config.classes_per_batch if classes_per_batch is None else classes_per_batch
    sentences = []
    for choice in config.losses:
        loss = LOSSES.get(choice.name)  # a run of another version may have a loss that this one lacks
        if loss is not None and loss.advice is not None:
            parameters = make(loss.parameters, dict(choice.parameters), loss.title)
            sentences.append(loss.advice(parameters, config.images_per_class, classes))
    return list(dict.fromkeys(filter(None, sentences)))
