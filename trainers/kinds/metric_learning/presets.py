"""Experiments as one run each, and settings under which a loss would differ from its paper."""

from __future__ import annotations

from trainers.config import DataChoice
from trainers.kinds.base import Preset
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice, make

_LOSSES = (Choice(name="contrastive"), Choice(name="smooth_ap"))
_THEN = "Then `python -m trainers background`, of several seeds with `--pool`, says which loss leans on it."


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
