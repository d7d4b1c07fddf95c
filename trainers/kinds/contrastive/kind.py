"""Contrastive training: MoCo, SimCLR, SupCon and their baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from trainers.errors import ParameterError
from trainers.kinds.arm_view import ArmView, chosen_arms
from trainers.kinds.base import CONDITIONS, IMAGES, MORE, READING, START, TOGETHER, Preset, Section
from trainers.kinds.checks import check_batch
from trainers.kinds.contrastive.config import STAGES, ContrastiveConfig
from trainers.kinds.labelled import Labelled
from trainers.registry import title_of

if TYPE_CHECKING:
    from torch import nn

    from trainers.data.base import LoadedData
    from trainers.metrics.measures import Measures
    from trainers.training.footprint import Footprint
    from trainers.training.loop import Loop


class Contrastive(Labelled[ContrastiveConfig]):
    """See the module."""

    name = "contrastive"
    title = "Contrastive pretraining"
    verb = "pretrain"
    sentence = "Train encoders by comparing views of images, with or without labels; then classify with them."
    compares = "methods"
    order = 3
    folds = True
    together = True
    config = ContrastiveConfig
    stages = STAGES
    lists: ClassVar[Mapping[str, str]] = MappingProxyType({"methods": "trainers.kinds.contrastive.methods:METHODS"})
    sections = (
        IMAGES,
        Section(names=("data.image_size", *READING.names), title=READING.title, folded=True),
        Section(
            names=("methods",),
            title="Methods",
            about="They start with the same weights and see the same views; only the method differs.",
        ),
        Section(names=("augmentation",)),
        Section(names=("encoder",)),
        START,
        Section(names=("minutes",)),
        Section(
            names=(
                "steps",
                "epochs",
                "batch",
                "dim",
                "norm",
                "splits",
                "optimiser",
                "momentum",
                "learning_rate",
                "backbone_rate",
                "frozen_norm",
                "weight_decay",
                "clip_norm",
                "schedule",
                "drops",
                "warm_up",
                "head_steps",
                "head_learning_rate",
                "transfer",
                "seed",
                "probe_size",
                "metrics",
                "track",
            ),
            title=MORE,
            folded=True,
        ),
        Section(names=("head_augmentation",), title="Augmentation of the second stage", folded=True),
        TOGETHER,
        CONDITIONS,
    )

    def loop(self) -> type[Loop]:
        from trainers.kinds.contrastive.loop import ContrastiveLoop

        return ContrastiveLoop

    @property
    def measures(self) -> Measures:
        from trainers.kinds.contrastive.measures import MEASURES

        return MEASURES

    def embedder(self, config: ContrastiveConfig, *, channels: int, side: int) -> nn.Module:
        """Build the encoder before the projection head, which is dropped."""
        from trainers.encoders.norms import replace_norms
        from trainers.training.footprint import unloaded

        encoder = unloaded(config.encoder, channels=channels, side=side, dim=config.dim)
        encoder.without_head()
        return replace_norms(encoder, config.encoder_norm or "batch")

    def check(self, config: ContrastiveConfig) -> None:
        """Check that the encoder sees views, the methods' own batches, and that the images may be opened here."""
        from trainers.encoders import ENCODERS
        from trainers.kinds.contrastive.methods import METHODS

        encoder = ENCODERS[config.encoder.name]
        if encoder.frozen:
            raise ParameterError(
                f"{encoder.title} looks at features that never change, and contrastive training needs new views in "
                "every step. Choose an encoder that is trained whole, such as conv4 or timm."
            )
        for choice in config.methods:
            batch = METHODS[choice.name].checked(choice.parameters).batch
            if batch is not None and batch > config.batch:
                raise ParameterError(
                    f"{METHODS[choice.name].title}: batch {batch} is larger than the batch of the run, {config.batch}, "
                    f"which all methods share. Set it to at most {config.batch}, or raise that of the run."
                )
        check_batch(config, config.batch, config.encoder)
        super().check(config)
        if config.transfer:
            from trainers.data.source_check import check_source

            check_source(config.transfer)
        if config.frozen_norm and config.encoder_norm:
            raise ParameterError(
                f"Normalisation {config.norm!r} leaves no batch normalisation that could be frozen. Choose the "
                "normalisation 'batch', or do not freeze it."
            )

    def rehearse_on(self, config: ContrastiveConfig, data: LoadedData) -> list[str]:
        """Check the metrics against what the images allow, and the budget against an epoch of them."""
        from trainers.kinds.contrastive.diagnosis import advice
        from trainers.kinds.contrastive.loop import check_metrics

        check_metrics(config.metrics, data)
        known = advice(config)
        return [sentence for sentence in advice(config, len(data.train)) if sentence not in known]

    def footprint(self, config: ContrastiveConfig) -> Footprint:
        """Estimate encoders, activations, dictionaries and logits."""
        from trainers.kinds.contrastive.footprint import footprint

        return footprint(config)

    def sizes(self, config: ContrastiveConfig) -> Mapping[str, int]:
        """Return batch, projection, dictionary and probe."""
        from trainers.kinds.contrastive.footprint import needs_of

        largest = max((needs_of(choice).compared for choice in config.methods), default=0)
        return {"batch": config.batch, "dim": config.dim, "memory": largest, "probe": config.probe_size}

    def advice(self, config: ContrastiveConfig) -> list[str]:
        """List settings under which a method cannot do what its paper describes, after what is said of any run."""
        from trainers.kinds.contrastive.diagnosis import advice

        return [*super().advice(config), *advice(config)]

    def diagnosis(self, config: ContrastiveConfig, arm: int, numbers: Mapping[str, float]) -> list[str]:
        from trainers.kinds.contrastive.diagnosis import diagnosis

        return diagnosis(config, arm, numbers)

    def presets(self) -> Sequence[Preset]:
        """Return the papers' comparisons, at sizes of ours."""
        from trainers.kinds.contrastive.presets import PRESETS

        return PRESETS

    def arms(self, config: ContrastiveConfig) -> list[ArmView]:
        """List one per method; the same method twice is told apart by its parameters, or by number."""
        from trainers.kinds.contrastive.methods import METHODS

        return chosen_arms(config.methods, METHODS, unset={"batch": config.batch})

    def details(self, config: ContrastiveConfig) -> list[str]:
        """Name encoder, augmentation and batch."""
        from trainers.training.augmentations import AUGMENTATIONS

        views = title_of(AUGMENTATIONS, config.augmentation.name)
        return [*super().details(config), f"{views} views", f"{config.batch} images a step"]
