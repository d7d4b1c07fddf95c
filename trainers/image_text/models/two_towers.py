"""An encoder of the catalogue and a small text transformer, trained together with CLIP's loss.

Its image tower is one that metric learning and contrastive pretraining train too, so it can start from a run of theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainers.errors import ParameterError
from trainers.image_text.base import ModelDescriptor, ModelSize
from trainers.image_text.losses import LARGEST_LOG_SCALE, clip_loss
from trainers.image_text.small import TEXT, SmallModel, caption_features
from trainers.parameters import Choice, Rule, entry, make, parameter, parse_choice
from trainers.registry import importing

_ENCODERS = Rule(help="", registry="trainers.encoders:ENCODERS")
"""Looked up when a model is made: loading one registry does not load another."""
_LOG_SCALE = math.log(1 / 0.07)  # of a new CLIP (Radford et al. 2021, 2.5)
_TEXT_WEIGHTS, _TEXT_KEPT = 1_450_000, 300_000  # see :class:`ModelSize`


@dataclass(frozen=True, kw_only=True)
class TwoTowersParameters:
    """Raises a ParameterError if there is no such encoder, or it cannot be trained."""

    encoder: str = parameter(
        "conv4",
        main=True,
        help="Encoder of the images, as in conv4:width=48 or timm:model=resnet18;pretrained=false; "
        "`python -m trainers encoders` lists them.",
    )
    dim: int = parameter(128, low=16, high=1024, help="Numbers in an embedding.")
    side: int = parameter(64, choices=(32, 64, 96, 128, 224), help="Side of the images it takes, pixels.")

    def __post_init__(self) -> None:
        encoders = _ENCODERS.entries()
        descriptor = entry(encoders, self.chosen.name, "encoder")
        make(descriptor.parameters, dict(self.chosen.parameters), descriptor.title)
        if descriptor.frozen:
            trained = ", ".join(name for name, descriptor in encoders.items() if not descriptor.frozen)
            raise ParameterError(f"{descriptor.title} is not trained on images; choose from {trained}.")

    @property
    def chosen(self) -> Choice:
        """The encoder; its parameters are apart by semicolons, because commas are between those of the model."""
        name, values = parse_choice(self.encoder.replace(";", ","), _ENCODERS.entries())
        return Choice(name=name, parameters=values)


class TwoTowers(SmallModel):
    """Both towers and the temperature. Their attributes name the weights in checkpoints."""

    image_tower = ("encoder.", "projection.")

    def __init__(self, parameters: TwoTowersParameters) -> None:
        super().__init__(side=parameters.side)
        with importing():
            from open_clip.transformer import TextTransformer

        chosen = parameters.chosen
        self.encoder = _ENCODERS.entries()[chosen.name].build(
            channels=3, side=parameters.side, dim=parameters.dim, parameters=chosen.parameters
        )
        self.projection = nn.Linear(self.encoder.without_head(), parameters.dim)
        self.text = TextTransformer(**TEXT, output_dim=parameters.dim)
        self.scale = nn.Parameter(torch.tensor(_LOG_SCALE))

    def image_features(self, images: Tensor) -> Tensor:
        return self.projection(self.encoder(images))

    def text_features(self, tokens: Tensor) -> Tensor:
        return caption_features(self.text, tokens)

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        return {"clip": clip_loss(images, texts, self.scale.exp())}

    def after_step(self) -> None:
        with torch.no_grad():
            self.scale.clamp_(0.0, LARGEST_LOG_SCALE)


def _size(parameters: TwoTowersParameters) -> ModelSize:
    from trainers.training.footprint import encoder_sizes

    weights, kept, _ = encoder_sizes(parameters.chosen, 3, parameters.side, parameters.dim)
    return ModelSize(weights=weights + _TEXT_WEIGHTS, side=parameters.side, kept=kept + _TEXT_KEPT)


def _missing(parameters: TwoTowersParameters) -> str | None:
    chosen = parameters.chosen
    reason: str | None = _ENCODERS.entries()[chosen.name].lacking(chosen.parameters)
    return reason


DESCRIPTOR = ModelDescriptor(
    name="two_towers",
    title="Two towers",
    sentence="An encoder of the catalogue and a small text transformer, which know nothing before they are trained.",
    paper="Learning Transferable Visual Models From Natural Language Supervision, Radford et al., ICML 2021",
    parameters=TwoTowersParameters,
    make=TwoTowers,
    missing=_missing,
    encoder=lambda parameters: parameters.chosen,
    natural_images=False,
    trained=False,
    learning_rate=1e-3,
    size=_size,
    order=11,
)
