"""Any timm model, trained whole or used as frozen features under a small head."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainers.encoders.base import Encoder, EncoderDescriptor
from trainers.errors import UserError
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class TimmParameters:
    model: str = parameter(
        "resnet18", help="Name of a timm model, such as resnet18 or vit_small_patch16_224.", main=True
    )
    pretrained: bool = parameter(True, help="Start from published weights; needs the network once, or a filled cache.")


@dataclass(frozen=True, kw_only=True)
class FrozenParameters:
    model: str = parameter(
        "resnet18", help="Name of a timm model whose features are computed once and kept.", main=True
    )
    pretrained: bool = parameter(True, help="Use published weights; without them the features are random projections.")
    hidden: int = parameter(512, low=16, high=4096, help="Width of the head's hidden layer.")


class _Backbone(Encoder):
    """A timm model without its classifier, ``backbone``."""

    wraps = "backbone"

    def __init__(self, parameters: TimmParameters | FrozenParameters) -> None:
        backbone, mean, std, self._side = _load(parameters.model, parameters.pretrained)
        super().__init__(mean=mean, std=std)
        self.backbone = backbone
        self.width = getattr(backbone, "head_hidden_size", None) or backbone.num_features

    def features(self, images: Tensor) -> Tensor:
        """See :class:`Encoder`."""
        return self.backbone(_resized(self.normalise(images), self._side))


class Timm(_Backbone):
    """A timm backbone and a linear layer, all trained."""

    def __init__(self, parameters: TimmParameters, *, dim: int, **_images: Any) -> None:
        super().__init__(parameters)
        self.head = nn.Linear(self.width, dim)

    def forward(self, images: Tensor) -> Tensor:
        """See :class:`Encoder`."""
        return self.head(self.features(images))


class FrozenTimm(_Backbone):
    """A timm backbone that is never trained, and a two-layer head that is."""

    frozen = True

    def __init__(self, parameters: FrozenParameters, *, dim: int, **_images: Any) -> None:
        super().__init__(parameters)
        self.backbone.eval().requires_grad_(False)
        hidden = parameters.hidden
        self.head = nn.Sequential(
            nn.LayerNorm(self.width), nn.Linear(self.width, hidden), nn.GELU(), nn.Linear(hidden, dim)
        )

    def train(self, mode: bool = True) -> FrozenTimm:
        """Switch the head only: the backbone's batch statistics stay as they are."""
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        """See :class:`Encoder`: takes features."""
        return self.head(images)


def _missing(_parameters: TimmParameters | FrozenParameters) -> str | None:
    return None if find_spec("timm") is not None else "This encoder needs the timm library: pip install timm"


def _load(name: str, pretrained: bool) -> tuple[Any, tuple[float, ...], tuple[float, ...], int | None]:
    """Load the model without its classifier, its pixels' mean and deviation, and the only side it takes (None: any)."""
    import timm

    if not timm.is_model(name.split(":")[-1].split(".")[0]) or ":" in name:
        raise UserError(f"{name!r} is not the name of a timm model. timm.list_models() lists them all.")
    try:
        model: Any = timm.create_model(name, pretrained=pretrained, num_classes=0)
    except Exception as error:  # timm, the Hub client and the network raise many kinds
        raise UserError(
            f"The weights of {name} could not be loaded ({type(error).__name__}). "
            "Check the network, or switch pretrained off to start from random weights."
        ) from error
    config = model.pretrained_cfg
    fixed = config.get("fixed_input_size", False)
    return model, tuple(config["mean"]), tuple(config["std"]), config["input_size"][-1] if fixed else None


def _resized(images: Tensor, side: int | None) -> Tensor:
    if side is None or images.shape[-1] == side:
        return images
    return F.interpolate(images, size=(side, side), mode="bicubic", antialias=True)


DESCRIPTORS = (
    EncoderDescriptor(
        name="timm_frozen",
        title="Frozen features + head",
        sentence="A timm model computes features once; only a small head is trained, thousands of images a second.",
        parameters=FrozenParameters,
        make=FrozenTimm,
        learning_rate=1e-3,
        frozen=True,
        missing=_missing,
        order=2,
    ),
    EncoderDescriptor(
        name="timm",
        title="timm model",
        sentence="Any timm model, trained whole; wants a GPU beyond the smallest.",
        parameters=TimmParameters,
        make=Timm,
        learning_rate=1e-4,
        missing=_missing,
        order=3,
    ),
)
