"""Metric learning on labelled images: several losses in lockstep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from trainers.config import MAX_ARMS, RunConfig
from trainers.errors import ParameterError
from trainers.kinds.arm_view import ArmView, chosen_arms
from trainers.kinds.base import Kind, Preset
from trainers.kinds.checks import check_data, check_start, rehearse_images
from trainers.kinds.data_titles import titled
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice

if TYPE_CHECKING:
    from torch import nn

    from trainers.data.base import Progress
    from trainers.metrics.measures import Measures
    from trainers.training.loop import Loop
    from trainers.training.memory_estimate import Footprint


class MetricLearning(Kind):
    """See the module."""

    name = "metric_learning"
    title = "Metric learning"
    verb = "train"
    sentence = f"Train up to {MAX_ARMS} losses in lockstep on the same labelled images."
    compares = "losses"
    order = 1
    folds = True
    config: ClassVar[type[RunConfig]] = MetricLearningConfig
    more = (
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
    )

    def loop(self) -> type[Loop]:
        from trainers.kinds.metric_learning.loop import MetricLearningLoop

        return MetricLearningLoop

    @property
    def measures(self) -> Measures:
        from trainers.kinds.metric_learning.measures import MEASURES

        return MEASURES

    def measures_of(self, config: MetricLearningConfig) -> Measures:
        """Those of the kind, and the metrics that were asked for."""
        return self.measures.asked(config.metrics)

    def embedder(self, config: MetricLearningConfig, *, channels: int, side: int) -> nn.Module:
        """The whole encoder, its head included."""
        from trainers.training.encoder_sizes import unloaded

        return unloaded(config.encoder, channels=channels, side=side, dim=config.dim)

    def check(self, config: MetricLearningConfig) -> None:
        """Check that images can be augmented, and that they may be opened here."""
        from trainers.encoders import ENCODERS
        from trainers.metrics.asked import check_number

        encoder, augmentation = ENCODERS[config.encoder.name], config.augmentation
        if encoder.frozen and augmentation not in (MetricLearningConfig.augmentation, Choice(name="none")):
            raise ParameterError(
                f"{encoder.title} sees each image once, before training, so images cannot be augmented; "
                f"got the augmentation {augmentation.name}. Choose none, or another encoder."
            )
        check_data(config.data)
        check_start(config, config.encoder)
        check_number(config.metrics)

    def rehearse(self, config: MetricLearningConfig, root: Path, progress: Progress) -> list[str]:
        """See :mod:`trainers.kinds.metric_learning.suited`."""
        from trainers.kinds.metric_learning.suited import suit

        said = super().rehearse(config, root, progress)
        return [*said, *suit(config, rehearse_images(config, root, progress)).notes]

    def memory(self, config: MetricLearningConfig) -> Footprint:
        """Encoders, activations, cross-batch memories and pairs."""
        from trainers.kinds.metric_learning.memory import footprint

        return footprint(config)

    def sizes(self, config: MetricLearningConfig) -> Mapping[str, int]:
        """Batch, embedding, cross-batch memory and probe."""
        batch = config.classes_per_batch * config.images_per_class
        return {"batch": batch, "dim": config.dim, "memory": config.memory, "probe": config.probe_size}

    def advice(self, config: MetricLearningConfig) -> list[str]:
        """Losses that the run's batches do not suit, after what is said of any run."""
        from trainers.kinds.metric_learning.advice import advice

        return [*super().advice(config), *advice(config)]

    def alone(self, config: MetricLearningConfig) -> str:
        """That one seed and one learning rate decide nothing."""
        several = config.arms > 1
        outcome = "differences may be chance" if several else "other seeds may give other numbers"
        return f"One run, one seed, one learning rate: {outcome}."

    def presets(self) -> Sequence[Preset]:
        """Backgrounds tied to classes in training, more and less."""
        from trainers.kinds.metric_learning.presets import PRESETS

        return PRESETS

    def arms(self, config: MetricLearningConfig) -> list[ArmView]:
        """One per loss; the same loss twice is told apart by its parameters, or by number."""
        from trainers.losses import LOSSES

        return chosen_arms(config.losses, LOSSES)

    def source(self, config: MetricLearningConfig) -> str:
        """A dataset of the catalogue, a folder or a Hub id."""
        return config.data.source

    def data_title(self, config: MetricLearningConfig) -> str:
        """The catalogue's title, or the last part of a path or id; and hard conditions."""
        return titled(config.data)

    def details(self, config: MetricLearningConfig) -> list[str]:
        """Encoder, batch, and whose images the maps show if not the test images."""
        from trainers.encoders import ENCODERS

        name = config.encoder.name
        encoder = ENCODERS[name].title if name in ENCODERS else name
        batch = f"{config.classes_per_batch} classes x {config.images_per_class} images"
        return [encoder, batch, *(["maps of training images"] if config.probe_of == "train" else ())]
