"""Advice before a run starts: settings under which a method cannot do what its paper describes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trainers.kinds.contrastive.config import ContrastiveConfig

if TYPE_CHECKING:
    from trainers.kinds.contrastive.methods import MethodDescriptor


def advice(config: ContrastiveConfig, images: int | None = None) -> list[str]:
    """List sentences, each once.

    Args:
        config: checked.
        images: training images of an epoch, where they are known.
    """
    return list(dict.fromkeys(_sentences(config, images)))


def short_of_an_epoch(epochs: float) -> str:
    """Say that the contrastive stage ends within its first epoch; empty: it does not.

    Args:
        epochs: passes over the training images that its budget allows.
    """
    if epochs >= 1:
        return ""
    times = math.ceil(10 / epochs) / 10 if epochs > 0 else 0
    more = f"at least {times:g} times the budget" if times else "a larger budget"
    return (
        f"The budget ends the contrastive stage after {epochs:.1%} of an epoch, before every training image was seen "
        f"once. Give it {more}, or choose a smaller encoder or smaller images."
    )


def _sentences(config: ContrastiveConfig, images: int | None) -> Iterator[str]:
    from trainers.kinds.contrastive.methods import METHODS

    epochs = [] if config.epochs is None else [config.epochs]
    if images and config.steps is not None:
        epochs.append(config.steps / max(1, images // config.batch))
    if epochs and (short := short_of_an_epoch(min(epochs))):
        yield short
    if config.start and config.encoder_norm:
        yield (
            f"The normalisation layers of the encoder that this run starts from are replaced by {config.encoder_norm} "
            "normalisation, which begins anew. To keep them, choose the normalisation 'batch' or 'split'."
        )
    for choice in config.methods:
        descriptor = METHODS.get(choice.name)
        if descriptor is not None:
            settings = descriptor.checked(choice.parameters)
            yield from _of_images(config, descriptor)
            yield from _of_keys(config, descriptor, settings, images)
            yield from _of_chunks(config, descriptor, settings, images)
            if getattr(settings, "temperature", 1.0) < 0.03:
                yield (
                    f"{descriptor.title}: at a temperature below 0.03 a few hard pairs decide, and training is "
                    "unstable."
                )


def _of_images(config: ContrastiveConfig, method: MethodDescriptor) -> Iterator[str]:
    """Advise on the labels and the views of the images."""
    from trainers.training.augmentations.none import DESCRIPTOR as UNCHANGED

    if config.data.conditions.label_noise and not method.labels:
        changed = "only the linear classifier of its second stage" if config.head_steps else "nothing"
        yield f"{method.title} is trained without labels: label noise changes {changed}."
    if config.augmentation.name == UNCHANGED.name and method.candidates is not None and not method.labels:
        yield (
            "Without augmentation both views of an image are the same, and finding one by the other teaches little. "
            "Choose an augmentation, for example SimCLR's."
        )


def _of_keys(config: ContrastiveConfig, method: MethodDescriptor, settings: Any, images: int | None) -> Iterator[str]:
    """Advise on the encoder of the keys, their shuffling and their queue."""
    queue, momentum = getattr(settings, "queue", None), getattr(settings, "momentum", None)
    if queue is not None and getattr(settings, "sharing", "separate") == "separate" and momentum == 0:
        yield (
            f"{method.title} with momentum 0 copies the encoder in every step: keys of different steps do not compare, "
            "and the paper's training fails with it."
        )
    if getattr(settings, "shuffle", False) and config.frozen_norm:
        yield "Shuffling keys changes nothing with frozen batch norm, which takes no statistics of a batch."
    elif getattr(settings, "shuffle", False) and config.norm == "batch" and not config.chunk:
        yield (
            "Shuffling keys changes nothing with batch normalisation over the whole batch; normalisation 'split' "
            "imitates several devices."
        )
    if queue and images is not None and config.steps and config.steps * config.batch < queue:
        yield (
            f"{method.title} has a queue of {queue:,} keys, which {config.steps:,} steps do not fill: most of its keys "
            "will stay random."
        )


def _of_chunks(config: ContrastiveConfig, method: MethodDescriptor, settings: Any, images: int | None) -> Iterator[str]:
    """Advise on the normalisation of a batch that is encoded in chunks."""
    from trainers.training.gradient_caching import chunks

    encoded = method.needs(settings, images or 0).views if method.together else 1
    parts = chunks(settings.images(config.batch) * encoded, config.chunk)
    if parts < 2 or config.frozen_norm or config.encoder_norm:
        return
    if method.together:
        yield (
            f"{method.title} compares the images of a batch; where the encoder has batch normalisation, statistics of "
            f"{parts} chunks tell which images shared one. Choose the normalisation 'group' or 'layer', which looks at "
            "each image."
        )
    elif config.norm == "split" and config.splits % parts:
        yield (
            f"{config.splits} groups of split normalisation are not divided by the {parts} chunks of a batch: each "
            f"chunk has {max(1, config.splits // parts)}. With chunks whose number divides the groups, they are the "
            "groups of the whole batch."
        )
