"""The settings of contrastive training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from trainers.config import MAX_ARMS, NORMS, DataChoice, EncoderConfig, RunConfig
from trainers.parameters import Choice, default_of, parameter

COMPARISON, HEAD = "contrastive training", "linear classifier on the frozen encoder"
STAGES = MappingProxyType({COMPARISON: "contrastive", HEAD: "classifier"})
"""Titles of its stages, with the word before the number of their steps."""


@dataclass(frozen=True, kw_only=True)
class ContrastiveConfig(EncoderConfig):
    """One dataset, one encoder, several methods trained in lockstep on the same views; then linear classifiers.

    Sizes are ours, for small machines; the methods' own defaults are the papers'.
    """

    kind: ClassVar[str] = "contrastive"
    gone: ClassVar[Mapping[str, object]] = MappingProxyType(
        {
            **EncoderConfig.gone,
            "corruptions": False,
            "reference": None,
            "pretext": {"name": "instance_discrimination", "parameters": {}},
        }
    )

    data: DataChoice = parameter(factory=lambda: DataChoice(held_out="images"), help="Which images.")
    methods: tuple[Choice, ...] = parameter(
        (Choice(name="moco_v2", parameters={"queue": 1024, "momentum": 0.99}), Choice(name="simclr")),
        registry="trainers.kinds.contrastive.methods:METHODS",
        title="Method",
        flag="method",
        help=f"One to {MAX_ARMS}, e.g. moco_v2:queue=4096,momentum=0.99 simclr.",
    )
    dim: int = parameter(
        128,
        low=2,
        high=4096,
        log=True,
        slider=(2, 2048),
        title="Projection",
        help="Numbers after the projection head, which is dropped at the end.",
    )
    batch: int = parameter(256, low=2, high=8192, log=True, slider=(16, 1024), help="Images of a step.")
    norm: str = parameter(
        "split",
        choices=NORMS,
        title="Normalisation",
        help="batch; split: statistics of groups of the batch, as on several devices; group or layer: of each image.",
    )
    splits: int = parameter(8, low=2, high=256, title="Groups of split normalisation", help="Devices that it imitates.")
    head_steps: int = parameter(
        200,
        low=0,
        high=1_000_000,
        title="Steps of the second stage",
        help="They train a linear classifier on the frozen encoder, if there are classes, for at most a quarter of the "
        "minutes; 0: no second stage.",
    )
    head_learning_rate: float = parameter(
        0.1, low=1e-6, high=100.0, log=True, title="Learning rate of the second stage", help="Of the classifier."
    )
    head_augmentation: Choice = parameter(
        Choice(name="crop_flip"),
        registry="trainers.training.augmentations:AUGMENTATIONS",
        title="Augmentation of the second stage",
        help="MoCo and SupCon train the classifier on crops and mirrored images, whatever the encoder saw.",
    )
    transfer: str | None = parameter(
        None, help="Another dataset, on whose images a linear classifier is trained at the end."
    )
    augmentation: Choice = default_of(RunConfig, "augmentation", Choice(name="moco_v2"))
    optimiser: str = default_of(RunConfig, "optimiser", "sgd")
    learning_rate: float = default_of(RunConfig, "learning_rate", 0.03)
    weight_decay: float = default_of(RunConfig, "weight_decay", 5e-4)

    @property
    def encoder_prefix(self) -> str:
        return "method/net.backbone."

    @property
    def arms(self) -> int:
        """How many models train in lockstep: one per method."""
        return len(self.methods)

    @property
    def encoder_norm(self) -> str:
        """See :class:`RunConfig`; split batch statistics have the tensors of batch normalisation."""
        return "" if self.norm in ("batch", "split") else self.norm
