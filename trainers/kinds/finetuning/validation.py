"""Checks the settings of a fine-tuning before it starts, and estimates its memory."""

from __future__ import annotations

from trainers.data import settings
from trainers.data.captioned.loader import parameters_of
from trainers.data.source_check import check_source
from trainers.errors import ParameterError
from trainers.image_text.models import MODELS
from trainers.kinds.checks import check_batch, check_start
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


def check(config: FinetuningConfig) -> None:
    """Check recipes, model and images.

    Raises:
        ParameterError: the first thing that is wrong, with what is accepted and what it got.
        DataError: a source that may not be opened here.
    """
    _check_captioners(config)
    _check_start(config)
    _check_model(config)
    check_batch(config, config.batch, config.encoder if config.encoder_prefix else None)
    for source in filter(None, (config.scenes.source, config.scenes.captions_from)):
        check_source(source)
    parameters_of(config.scenes.source)
    if not config.scenes.source.strip():
        raise ParameterError("A fine-tuning needs images: drawn_scenes, a folder or a Hub id; got nothing.")


def _check_captioners(config: FinetuningConfig) -> None:
    from trainers.data import access
    from trainers.kinds.finetuning.recipes import recipe, title
    from trainers.object_removal import captioner

    for chosen in map(recipe, config.recipes):
        if chosen.captioner and access.public():
            raise ParameterError("A captioner cannot be named on a public page. Choose phrases or prompts.")
        reason = captioner.missing(chosen.captioner) if chosen.removed and chosen.text == "captioner" else None
        if reason is not None:
            raise ParameterError(
                f"No captioner is available for the recipe {title(chosen)}: {reason} Another BLIP captioner can be "
                "named in `captioner`, as a folder or a Hub id."
            )


def _check_model(config: FinetuningConfig) -> None:
    from trainers.image_text.models import MODELS

    model = MODELS[config.model.name]
    if not model.trainable:
        raise ParameterError(f"{model.title} cannot be fine-tuned here; choose another model.")
    reason = model.lacking(config.model.parameters)
    if reason is not None:
        raise ParameterError(reason)


def _check_start(config: FinetuningConfig) -> None:
    from trainers.image_text.models import MODELS

    if config.encoder_prefix:
        check_start(config, config.encoder)
        return
    given = (
        (config.start is not None, "start from the encoder of a run"),
        (config.weights is not None, "start from a file of weights"),
        (config.frozen_norm, "freeze its batch normalisation"),
        (config.backbone_rate != 1, "have a rate of the backbone"),
    )
    takers = ", ".join(name for name, model in MODELS.items() if model.encoder is not None)
    for cannot in (words for wrong, words in given if wrong):
        raise ParameterError(
            f"{MODELS[config.model.name].title} cannot {cannot}: its image tower is none of the encoders. Of the "
            f"models, this one can: {takers}."
        )
