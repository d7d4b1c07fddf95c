"""A CLIP small enough to ship and to train on two CPU cores. It knows the drawn scenes, not photographs.

``python -m tests.make.tiny_clip`` makes the weights in ``assets/models``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from trainers.data import access
from trainers.errors import RunError
from trainers.image_text.base import ModelDescriptor, ModelSize
from trainers.image_text.losses import (
    LARGEST_LOG_SCALE,
    MARGIN,
    SIGLIP_BIAS,
    SIGLIP_LOG_SCALE,
    clip_loss,
    hardest_triplet_loss,
    siglip_loss,
)
from trainers.image_text.small import TEXT, SmallModel, caption_features
from trainers.parameters import parameter
from trainers.registry import importing
from trainers.runs.atomic_files import read_tensors

SIDE = 64
ASSETS = Path(__file__).resolve().parents[3] / "assets" / "models"
WEIGHTS = "open_clip_model.safetensors"
ARCHITECTURE: dict[str, Any] = {
    "embed_dim": 128,
    "vision_cfg": {"layers": [1, 1, 1, 1], "width": 16, "head_width": 32, "image_size": SIDE},
    "text_cfg": dict(TEXT),
}
"""As open_clip writes it: a modified ResNet of one block a stage, and a text transformer of three layers."""


@dataclass(frozen=True, kw_only=True)
class TinyClipParameters:
    fresh: bool = parameter(False, help="Start from random weights instead of the trained ones.")
    loss: str = parameter(
        "clip", choices=("clip", "siglip", "triplet"), help="What it is trained with: CLIP, SigLIP or VSE++'s triplet."
    )
    weights: str = parameter("", help="Folder of other weights of this shape; empty for the shipped ones.", main=True)


class TinyClip(SmallModel):
    """open_clip's CLIP at 64 pixels, with one of three losses."""

    image_tower = ("net.visual.",)

    def __init__(self, loss: str) -> None:
        super().__init__(side=SIDE)
        with importing():
            from open_clip import CLIP

        self.net = CLIP(**ARCHITECTURE)
        self.net.visual.to(memory_format=torch.channels_last)  # a third less time on a CPU
        self._loss = loss
        if loss == "siglip":
            self.scale = nn.Parameter(torch.tensor(SIGLIP_LOG_SCALE))
            self.bias = nn.Parameter(torch.tensor(SIGLIP_BIAS))

    def image_features(self, images: Tensor) -> Tensor:
        return self.net.encode_image(self.normalise(images).contiguous(memory_format=torch.channels_last))

    def text_features(self, tokens: Tensor) -> Tensor:
        return caption_features(self.net, tokens)

    def terms(self, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
        if self._loss == "siglip":
            return {"siglip": siglip_loss(images, texts, self.scale.exp(), self.bias)}
        if self._loss == "triplet":
            return {"triplet": hardest_triplet_loss(images, texts, margin=MARGIN)}
        return {"clip": clip_loss(images, texts, self.net.logit_scale.exp())}

    def after_step(self) -> None:
        with torch.no_grad():
            self.net.logit_scale.clamp_(0.0, LARGEST_LOG_SCALE)


def load_weights(model: TinyClip, folder: Path) -> None:
    """Load the weights of an open_clip folder into the model.

    Raises:
        RunError: they are missing, damaged or of another shape.
    """
    try:
        weights, _ = read_tensors(folder / WEIGHTS)
        model.net.load_state_dict(weights)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise RunError(
            f"The weights of the small model in {folder.name!r} are missing or damaged ({error}). Restore that folder "
            "from the repository, or train the model again with `python -m tests.make.tiny_clip`."
        ) from error


def _make(folder: str, parameters: TinyClipParameters) -> TinyClip:
    model = TinyClip(parameters.loss)
    if not parameters.fresh:
        load_weights(model, _place(folder, parameters))
    return model


def _place(folder: str, parameters: TinyClipParameters) -> Path:
    if not parameters.weights:
        return ASSETS / folder
    return access.allowed_path(parameters.weights)


def _missing(folder: str, parameters: TinyClipParameters) -> str | None:
    if parameters.fresh or (_place(folder, parameters) / WEIGHTS).is_file():
        return None
    if parameters.weights:
        return f"There are no weights {WEIGHTS} in {parameters.weights!r}."
    return f"The weights assets/models/{folder} are missing; make them with `python -m tests.make.tiny_clip`."


def _descriptor(name: str, title: str, sentence: str, order: int) -> ModelDescriptor:
    return ModelDescriptor(
        name=name,
        title=title,
        sentence=sentence,
        paper="Learning Transferable Visual Models From Natural Language Supervision, Radford et al., ICML 2021",
        parameters=TinyClipParameters,
        make=lambda parameters: _make(name, parameters),
        missing=lambda parameters: _missing(name, parameters),
        natural_images=False,
        learning_rate=2e-4,
        size=lambda _: ModelSize(weights=2_800_000, side=64, kept=1_500_000),
        shipped=ASSETS / name / WEIGHTS,
        order=order,
    )


DESCRIPTORS = (
    _descriptor("tiny_clip", "Tiny CLIP", "A CLIP of 2.8 million weights trained on the drawn scenes.", 1),
    _descriptor(
        "tiny_clip_mended",
        "Tiny CLIP, fine-tuned",
        "The same after fine-tuning on original and object-removed scenes.",
        2,
    ),
)
