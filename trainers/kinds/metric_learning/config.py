"""The settings of a metric-learning run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainers.config import MAX_ARMS, EncoderConfig, RunConfig
from trainers.parameters import Choice, default_of, parameter
from trainers.runs.records import PARTS


@dataclass(frozen=True, kw_only=True)
class MetricLearningConfig(EncoderConfig):
    """One dataset, one encoder, several losses trained in lockstep on the same batches."""

    kind: ClassVar[str] = "metric_learning"

    losses: tuple[Choice, ...] = parameter(
        (Choice(name="smooth_ap"), Choice(name="happier")),
        registry="trainers.losses:LOSSES",
        title="Loss",
        help=f"One to {MAX_ARMS}, e.g. smooth_ap happier:alpha=5,weight_proxy=0.5.",
    )
    dim: int | None = parameter(
        None,
        low=2,
        high=4096,
        log=True,
        slider=(2, 2048),
        title="Embedding size",
        help="Numbers in each embedding. Empty: as many as the features under a residual head, else 64.",
    )
    sampler: str = parameter(
        "m_per_class",
        registry="trainers.samplers:SAMPLERS",
        title="Classes of a batch",
        help="How the classes that share a batch are drawn.",
    )
    classes_per_batch: int = parameter(
        32, low=2, high=2048, slider=(2, 128), help="More classes give each image more negatives."
    )
    images_per_class: int = parameter(
        4, low=2, high=256, slider=(2, 32), help="Ranking losses need several images of each class."
    )
    memory: int = parameter(
        0,
        low=0,
        high=262_144,
        title="Cross-batch memory",
        help="Embeddings of earlier batches to compare with; 0: the loss's own size, for most losses none.",
    )
    memory_after: int = parameter(
        300,
        low=0,
        high=10_000_000,
        title="Memory from step",
        help="Steps before the memory is used; early on, old embeddings mislead.",
    )

    probe_of: str = parameter(
        "test",
        choices=tuple(PARTS),
        title="Maps show",
        help="Test images, or training images, with those marked that have a wrong label; numbers are of test images.",
    )

    augmentation: Choice = default_of(RunConfig, "augmentation", Choice(name="light"))

    @property
    def encoder_prefix(self) -> str:
        return "encoder/"

    @property
    def width(self) -> int:
        """Numbers in each embedding.

        Raises:
            UserError: the encoder cannot be made.
        """
        from trainers.encoders import ENCODERS

        return self.dim or ENCODERS[self.encoder.name].dim(self.encoder.parameters)

    @property
    def arms(self) -> int:
        """How many models train in lockstep: one per loss."""
        return len(self.losses)
