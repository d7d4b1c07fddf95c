"""The settings of a run that fine-tunes an image-text model on object-removed images (Kim et al. 2023, 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trainers.config import MAX_ARMS, RunConfig, SceneChoice, StartConfig
from trainers.parameters import Choice, default_of, parameter


@dataclass(frozen=True, kw_only=True)
class FinetuningConfig(StartConfig):
    """One model, fine-tuned after several recipes in lockstep."""

    kind: ClassVar[str] = "finetuning"

    scenes: SceneChoice = parameter(factory=SceneChoice, help="Which images with captions.")
    model: Choice = parameter(
        Choice(name="tiny_clip"),
        registry="trainers.image_text.models:MODELS",
        help="Image-text model.",
    )
    recipes: tuple[Mapping[str, Any], ...] = parameter(
        ({},),
        help=f"One to {MAX_ARMS}, e.g. removed=false fill=zero,ratio=0.2; `-` is the default recipe.",
    )
    batch: int = parameter(128, low=8, high=4096, help="Pairs of an image and a caption in a step.")
    queries: int = parameter(200, low=10, high=100_000, help="Object-removed test images scored while it trains.")
    gallery: int = parameter(4000, low=100, high=10_000_000, help="Captions they are scored against while it trains.")

    minutes: float | None = default_of(RunConfig, "minutes", None)
    steps: int | None = default_of(RunConfig, "steps", 250)
    weight_decay: float = default_of(RunConfig, "weight_decay", 1e-2)
    learning_rate: float = default_of(
        RunConfig, "learning_rate", 2e-4, help="Size of the steps at its highest. Each model has its own."
    )

    @property
    def encoder_prefix(self) -> str:
        """See :class:`RunConfig`; empty for a model whose image tower is no encoder of the registry."""
        from trainers.image_text.models import MODELS

        model = MODELS.get(self.model.name)
        return "model/encoder." if model is not None and model.encoder is not None else ""

    @property
    def encoder(self) -> Choice:
        """The encoder in the model, of one that has one.

        Raises:
            ParameterError: a parameter of the model is wrong.
        """
        from trainers.image_text.models import MODELS

        model = MODELS[self.model.name]
        assert model.encoder is not None
        return model.encoder(model.checked(self.model.parameters))

    @property
    def arms(self) -> int:
        """How many models train in lockstep: one per recipe."""
        return len(self.recipes)
