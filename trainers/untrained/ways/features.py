"""The features of a published encoder as they are: the run's own, or the one that comes with the program."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from trainers.encoders import ENCODERS, shipped
from trainers.encoders.published import SHIPPED
from trainers.errors import UserError
from trainers.parameters import Choice
from trainers.progress import Progress, silent
from trainers.training.embedding import compute_features
from trainers.untrained.ways.base import Setting, UntrainedDescriptor

TRIED = 8
"""Images by which the speed is measured."""
SMALLEST = 32
_AS_THEY_ARE = ("model", "side", "pooling")
_SHIPPED = Choice(name="timm_frozen", parameters={"model": shipped.MODEL, "side": SHIPPED.side, "pooling": "published"})


def published(setting: Setting) -> Choice:
    """Return the encoder, without a head, whose features are compared: the run's own where it is a published one."""
    own = setting.encoder
    if own is None or own.name not in ENCODERS or not ENCODERS[own.name].pretrained(own.parameters):
        return _SHIPPED
    known = ENCODERS[own.name].checked(own.parameters)
    if not all(hasattr(known, name) for name in _AS_THEY_ARE):
        return _SHIPPED
    return Choice(name="timm_frozen", parameters={name: getattr(known, name) for name in _AS_THEY_ARE})


def of_run(setting: Setting) -> str:
    """Name the model, and the side of its images where one is given."""
    parameters = published(setting).parameters
    title = shipped.TITLE if parameters["model"] == shipped.MODEL else str(parameters["model"])
    side, pooling = parameters["side"], parameters["pooling"]
    return f"{title}{f' at {side} px' if side else ''}{'' if pooling == 'published' else f', {pooling} pooling'}"


def embed(images: Tensor, setting: Setting) -> Tensor:
    """Return features float32 ``[N, F]``, those of the run where it has read them.

    Raises:
        UserError: the weights cannot be had, or it would take longer than it may.
    """
    if setting.features is not None:
        return setting.features.float()
    chosen = published(setting)
    if lacks := ENCODERS[chosen.name].lacking(chosen.parameters):
        raise UserError(lacks)
    channels, side = images.shape[1], images.shape[-1]
    if side < SMALLEST:
        raise UserError(f"Features need images of {SMALLEST} px or more; these were read at {side} px.")
    encoder = ENCODERS[chosen.name].build(
        channels=channels, side=side, dim=1, parameters={**chosen.parameters, "head": "linear"}
    )
    encoder = encoder.to(setting.device)

    def features(part: Tensor, progress: Progress = silent) -> Tensor:
        return compute_features(encoder, part, setting.device, progress, torch.float32)

    if setting.seconds is not None:
        features(images[:TRIED])  # the first time is longer
        begun = time.monotonic()
        features(images[:TRIED])
        needed = (time.monotonic() - begun) * len(images) / TRIED
        if needed > setting.seconds:
            raise UserError(
                f"{len(images):,} images take about {needed:.0f} s here: a press in Live reads them, or python -m "
                "trainers untrained RUN."
            )
    return features(images, setting.progress)


DESCRIPTOR = UntrainedDescriptor(
    name="features",
    title="Features",
    sentence="The features of a published encoder as they are, with nothing trained on them.",
    embed=embed,
    of_run=of_run,
    slow=True,
    order=3,
)
