"""Metric learning on labelled images: several losses in lockstep."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trainers.config import BUDGET, MAX_ARMS
from trainers.errors import ParameterError
from trainers.kinds.arm_view import ArmView, chosen_arms
from trainers.kinds.base import CONDITIONS, IMAGES, MORE, READING, START, TOGETHER, Preset, Section
from trainers.kinds.checks import check_batch
from trainers.kinds.labelled import Labelled
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice

if TYPE_CHECKING:
    from torch import nn

    from trainers.config import DataChoice
    from trainers.data.base import LoadedData
    from trainers.encoders.published import AtHand
    from trainers.losses import LossDescriptor
    from trainers.metrics.measures import Measures
    from trainers.training.footprint import Footprint
    from trainers.training.loop import Loop


_STEPS_OF_A_HEAD = 200
"""Where no budget is given: in more a head on published features loses what it has gained, see docs/encoders.md."""
_ABOUT_ENCODERS = {"encoder", "start", "weights", "augmentation", "frozen_norm", "backbone_rate"}


class MetricLearning(Labelled[MetricLearningConfig]):
    """See the module."""

    name = "metric_learning"
    title = "Metric learning"
    verb = "train"
    sentence = f"Train up to {MAX_ARMS} losses in lockstep on the same labelled images."
    compares = "losses"
    projects = True
    order = 1
    folds = True
    together = True
    config = MetricLearningConfig
    sections = (
        IMAGES,
        Section(names=("data.image_size", *READING.names), title=READING.title, folded=True),
        Section(
            names=("losses",),
            title="Losses",
            about="They start with the same weights and see the same batches; only the loss differs.",
        ),
        Section(names=("encoder",)),
        START,
        Section(names=("minutes",)),
        Section(
            names=(
                "sampler",
                "augmentation",
                "steps",
                "classes_per_batch",
                "images_per_class",
                "learning_rate",
                "backbone_rate",
                "frozen_norm",
                "weight_decay",
                "clip_norm",
                "dim",
                "memory",
                "memory_after",
                "seed",
                "probe_size",
                "probe_of",
                "metrics",
                "track",
            ),
            title=MORE,
            folded=True,
        ),
        TOGETHER,
        CONDITIONS,
    )

    def loop(self) -> type[Loop]:
        from trainers.kinds.metric_learning.loop import MetricLearningLoop

        return MetricLearningLoop

    @property
    def measures(self) -> Measures:
        from trainers.kinds.metric_learning.measures import MEASURES

        return MEASURES

    def embedder(self, config: MetricLearningConfig, *, channels: int, side: int) -> nn.Module:
        """Build the whole encoder, its head included."""
        from trainers.training.footprint import unloaded

        return unloaded(config.encoder, channels=channels, side=side, dim=config.width)

    def check(self, config: MetricLearningConfig) -> None:
        """Check that images can be augmented, then as every kind on labelled images."""
        from trainers.encoders import ENCODERS

        encoder, augmentation = ENCODERS[config.encoder.name], config.augmentation
        if encoder.frozen and augmentation not in (MetricLearningConfig.augmentation, Choice(name="none")):
            raise ParameterError(
                f"{encoder.title} sees each image once, before training, so images cannot be augmented; "
                f"got the augmentation {augmentation.name}. Choose none, or another encoder."
            )
        if encoder.frozen and config.chunk:
            raise ParameterError(
                f"{encoder.title} trains a small head on features that are computed before training, which needs no "
                f"chunks; got chunks of {config.chunk:,} images. Leave chunk out, or choose another encoder."
            )
        check_batch(config, config.classes_per_batch * config.images_per_class, config.encoder)
        super().check(config)

    def configured(self, given: dict[str, Any], flags: Mapping[str, Any] | None = None) -> MetricLearningConfig:
        """Make a configuration; see :meth:`begins_with` for own images of which no encoder is said."""
        from trainers.encoders import ENCODERS

        made, said = super().configured(given, flags), self.layered(given, flags or {})
        if not _ABOUT_ENCODERS & said.keys() and (known := _at_hand(made.data)) is not None:
            data = dataclasses.replace(made.data, image_size=made.data.image_size or known.read)
            encoder = known.trained if _without_labels(made) else known.frozen
            made = dataclasses.replace(made, data=data, encoder=encoder)
            if encoder == known.frozen and all(said.get(name) is None for name in BUDGET):
                made = dataclasses.replace(made, steps=_STEPS_OF_A_HEAD)
        if "learning_rate" in said or made.encoder.name not in ENCODERS:
            return made
        return dataclasses.replace(made, learning_rate=ENCODERS[made.encoder.name].learning_rate)

    def begins_with(self, images: DataChoice) -> tuple[dict[str, Any], str]:
        """Begin photographs with the features of a published encoder, where one is at hand."""
        from trainers.encoders import ENCODERS

        known = _at_hand(images)
        encoder, read = (MetricLearningConfig.encoder, None) if known is None else (known.frozen, known.read)
        first = {"encoder": encoder, "learning_rate": ENCODERS[encoder.name].learning_rate, "data.image_size": read}
        first["steps"] = None if known is None else _STEPS_OF_A_HEAD
        return first, "" if known is None else known.sentence

    def rehearse_on(self, config: MetricLearningConfig, data: LoadedData) -> list[str]:
        from trainers.kinds.metric_learning.suited import suit

        return list(suit(config, data).notes)

    def footprint(self, config: MetricLearningConfig) -> Footprint:
        """Estimate encoders, activations, cross-batch memories and pairs."""
        from trainers.kinds.metric_learning.suited import footprint

        return footprint(config)

    def sizes(self, config: MetricLearningConfig) -> Mapping[str, int]:
        """Return batch, embedding, cross-batch memory and probe."""
        batch = config.classes_per_batch * config.images_per_class
        return {"batch": batch, "dim": config.width, "memory": config.memory, "probe": config.probe_size}

    def advice(self, config: MetricLearningConfig) -> list[str]:
        """List losses that the run's batches do not suit, after what is said of any run."""
        from trainers.encoders import ENCODERS
        from trainers.kinds.metric_learning.suited import advice

        encoder, said = ENCODERS[config.encoder.name], [*super().advice(config), *advice(config)]
        if encoder.frozen and (seeing := _several_views(config)):
            said.append(
                f"{encoder.title} sees each image once, before training, so the views that {seeing} compares are the "
                "same. The encoder timm with last_blocks=2 sees several."
            )
        if config.encoder.parameters.get("last_blocks") and (seeing := _without_labels(config)):
            said.append(
                f"{seeing} compares views of an image, so every loss of this run trains the encoder's last blocks: a "
                "step takes many times longer than that of a head on features. Without it such a head is trained."
            )
        return said

    def alone(self, config: MetricLearningConfig) -> str:
        """Say that one seed and one learning rate decide nothing."""
        several = config.arms > 1
        outcome = "differences may be chance" if several else "other seeds may give other numbers"
        return f"One run, one seed, one learning rate: {outcome}."

    def presets(self) -> Sequence[Preset]:
        """Return backgrounds tied to classes in training, more and less."""
        from trainers.kinds.metric_learning.suited import PRESETS

        return PRESETS

    def arms(self, config: MetricLearningConfig) -> list[ArmView]:
        """List one per loss; the same loss twice is told apart by its parameters, or by number."""
        from trainers.losses import LOSSES

        return chosen_arms(config.losses, LOSSES)

    def details(self, config: MetricLearningConfig) -> list[str]:
        """Name encoder, batch, and whose images the maps show if not the test images."""
        batch = f"{config.classes_per_batch} classes x {config.images_per_class} images"
        return [*super().details(config), batch, *(["maps of training images"] if config.probe_of == "train" else ())]


def _at_hand(images: DataChoice) -> AtHand | None:
    """Return the published encoder that a dataset begins with, that of photographs that ship the one that ships; None:
    it is another one of the catalogue or of grey drawings, or there is no such encoder.
    """
    from trainers.data import named
    from trainers.data.photographs import are_photographs
    from trainers.data.sources import SHIPPED
    from trainers.encoders.published import at_hand

    if images.source in SHIPPED:
        return at_hand("cpu")
    if named(images.source) is not None or not are_photographs(images):
        return None
    return at_hand()


def _several_views(config: MetricLearningConfig) -> str:
    """Return the title of the first loss that sees several views of an image; empty: none."""
    return next((loss.title for loss in _losses(config) if loss.views > 1), "")


def _without_labels(config: MetricLearningConfig) -> str:
    """Return the title of the first loss whose only positives are views of an image; empty: none."""
    return next((loss.title for loss in _losses(config) if not loss.labelled), "")


def _losses(config: MetricLearningConfig) -> Iterator[LossDescriptor]:
    """Yield the losses that are known; others are refused later."""
    from trainers.losses import LOSSES

    yield from (LOSSES[choice.name] for choice in config.losses if choice.name in LOSSES)
