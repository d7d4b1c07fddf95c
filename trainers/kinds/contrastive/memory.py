"""How much memory contrastive training will take, in bytes; an estimate on the safe side.

total = program + images + encoders + activations + memories + pairs + evaluation

encoders     per method: weights, gradients and moments, the key encoder, and what is checkpointed
activations  of all views of a batch; methods take turns
memories     per method: K x D x 4 bytes and 24 of each key's origin, K all images for a memory bank; once more when
             checkpointed
pairs        of one method at a time: logits, their gradient and their softmax, B x (1 + K) or (V B) x (V B)
evaluation   the probe, the bank and the features of all images
"""

from __future__ import annotations

from trainers.data import settings
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.training.encoder_sizes import encoder_sizes, guessed_shape
from trainers.training.memory_estimate import COPIES, FLOAT, Footprint, Shape

_LOGITS = 4
_VIEWS = 2
_EVALUATED = 256


def footprint(config: ContrastiveConfig, shape: Shape | None = None) -> Footprint:
    """Estimate a run.

    Args:
        config: a checked configuration.
        shape: of its images; None: guessed from the configuration.

    Raises:
        UserError: the encoder cannot be made.
    """
    known = shape or guessed_shape(config.data, classes=100)
    weights, kept, widest = encoder_sizes(config.encoder, known.channels, known.side, config.dim)
    head = widest * (widest + config.dim)
    pixels = known.channels * known.side**2
    keys = [dictionary_of(choice) for choice in config.methods]
    views = max(map(views_of, config.methods))
    return Footprint(
        images=min(known.images * pixels, settings.memory_bytes()),
        encoders=FLOAT * (COPIES + 2) * config.arms * (weights + head),
        activations=FLOAT * config.batch * views * (kept + 3 * pixels),
        memories=sum(2 * stored(choice, known.images) * (FLOAT * config.dim + 24) for choice in config.methods),
        pairs=max(_LOGITS * FLOAT * _rows(config.batch, views, count) for count in keys),
        evaluation=FLOAT * ((config.probe_size + 2000) * pixels + 2 * known.images * widest)
        + FLOAT * 2 * _EVALUATED * widest,
    )


def dictionary_of(choice: Choice) -> int:
    """Keys that a method compares with beside its batch; 0: none, or an unknown method."""
    from trainers.kinds.contrastive.methods import METHODS

    if choice.name not in METHODS:
        return 0
    checked = METHODS[choice.name].checked(choice.parameters)
    return int(getattr(checked, "queue", getattr(checked, "negatives", 0)))


def stored(choice: Choice, images: int) -> int:
    """Keys that a method keeps: its queue, or one of each of so many images where it draws from all of them."""
    from trainers.kinds.contrastive.methods import METHODS

    known = choice.name in METHODS and METHODS[choice.name].checked(choice.parameters)
    return images if hasattr(known, "negatives") else int(getattr(known, "queue", 0))


def views_of(choice: Choice) -> int:
    """Views of an image that a method takes."""
    positives = choice.parameters.get("positives", 1)
    return 1 + positives if isinstance(positives, int) else _VIEWS


def _rows(batch: int, views: int, keys: int) -> int:
    """Logits of a step."""
    return batch * (views - 1) * (1 + keys) if keys else (views * batch) ** 2
