"""The memory that a fine-tuning will take, in bytes; an estimate on the safe side."""

from __future__ import annotations

from trainers.data import settings
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.training.footprint import COPIES, FLOAT, Footprint, encoded_at_once

_PAIR_BYTES = 60  # of an image and a caption
_IMAGES = 5000
_EMBEDDED = 1024
"""Numbers per embedding of an image-text model, at most."""


def footprint(config: FinetuningConfig) -> Footprint:
    """Estimate a run: a model, its copies and its batch, from the size that its descriptor states."""
    model = MODELS[config.model.name]
    size = model.size(model.checked(config.model.parameters))
    arms, batch = config.arms, config.batch
    images = config.scenes.limit or _IMAGES
    return Footprint(
        images=min((1 + arms) * images * 3 * size.side**2, settings.memory_bytes()),
        encoders=FLOAT * COPIES * (arms + 1) * size.weights,
        activations=FLOAT * (encoded_at_once(batch, config.chunk) * size.kept + batch * 3 * size.side**2),
        pairs=_PAIR_BYTES * batch * batch,
        evaluation=FLOAT * (config.queries + config.gallery) * _EMBEDDED,
    )
