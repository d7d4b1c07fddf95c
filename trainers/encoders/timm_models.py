"""Any timm model, trained whole or used as frozen features under a small head."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainers.encoders import shipped
from trainers.encoders._heads import HEADS, WIDTHS, ResidualHead, fit, layered, plain_norm
from trainers.encoders._hub_model import hub_model
from trainers.encoders.base import Encoder, EncoderDescriptor
from trainers.errors import ParameterError, UserError
from trainers.parameters import default_of, parameter
from trainers.registry import importing


def blocks(backbone: Any) -> list[list[nn.Parameter]]:
    """Return the weights of each block, front to back; the first holds the stem.

    The groups are those that timm decays rates by. One without a matrix, such as a last normalisation, counts to the
    block before it.
    """
    from timm.models import group_parameters

    named = dict(backbone.named_parameters())
    groups: dict[int, list[str]] = group_parameters(backbone, backbone.group_matcher(coarse=False))
    joined: list[list[nn.Parameter]] = []
    for _, names in sorted(groups.items()):
        weights = [named[name] for name in names]
        if joined and all(weight.ndim < 2 for weight in weights):
            joined[-1] += weights
        else:
            joined.append(weights)
    return joined


def freeze_all_but(backbone: Any, last: int) -> None:
    """Train no block but the ``last`` ones; with as many as there are, or more, all."""
    for weights in blocks(backbone)[: max(0, len(blocks(backbone)) - last)]:
        for weight in weights:
            weight.requires_grad_(False)


def decayed(backbone: Any, decay: float) -> dict[nn.Parameter, float]:
    """Return the share of the learning rate of each weight: ``decay`` in the last block, and for each block in front of
    it once more (layer-wise rates, Clark et al. 2020, "ELECTRA", appendix A)."""
    rows = blocks(backbone)
    return {weight: decay ** (len(rows) - number) for number, weights in enumerate(rows) for weight in weights}


GEM_POWER = 3.0
"""Of the generalised mean: where Radenovic et al. (2019, "Fine-tuning CNN image retrieval with no human annotation",
section 3.2) begin; it is not trained here."""
SMALLEST = 1e-6
"""To which features are raised before the generalised mean."""


def _gem(features: Tensor) -> Tensor:
    return features.clamp(min=SMALLEST).pow(GEM_POWER).mean(1).pow(1 / GEM_POWER)


_MEANS: dict[str, Callable[[Tensor], Tensor]] = {"average": lambda features: features.mean(1), "gem": _gem}
POOLINGS = ("published", *_MEANS, "cls")


def pool(backbone: Any, images: Tensor, pooling: str) -> Tensor:
    """Compute one vector an image.

    Args:
        backbone: a timm model without its classifier.
        images: float ``[B, 3, H, W]``, normalised.
        pooling: one of :data:`POOLINGS`. ``published`` is the model's own. The means are over the places of the last
            map, or over the patch tokens; ``gem`` is their generalised mean, for which what is below 0 counts as 0.

    Returns:
        float ``[B, F]``.

    Raises:
        ParameterError: it has no class token.
    """
    if pooling == "published":
        return backbone(images)
    last: Tensor = backbone.forward_features(images)
    prefix = getattr(backbone, "num_prefix_tokens", 0)
    if pooling == "cls":
        if last.ndim != 3 or prefix <= _registers(backbone):
            raise ParameterError(
                "Pooling 'cls' takes a class token, and this model has none. Choose 'published', 'average' or 'gem'."
            )
        return _behind(backbone, last[:, 0])
    return _behind(backbone, _MEANS[pooling](_places(backbone, last, prefix)))


def width(backbone: Any, pooling: str) -> int:
    """Return F, the numbers that :func:`pool` gives."""
    published = getattr(backbone, "head_hidden_size", None)  # of models with a layer between pooling and classifier
    return int(published or backbone.num_features) if pooling == "published" else int(backbone.num_features)


def _registers(backbone: Any) -> int:
    """Return how many of the tokens in front of those of patches are registers, which stand behind a class token."""
    tokens = getattr(backbone, "reg_token", None)
    return int((getattr(backbone, "num_reg_tokens", 0) or 0) if tokens is None else tokens.shape[1])


def _places(backbone: Any, last: Tensor, prefix: int) -> Tensor:
    """Return the places of the last layer, ``[B, P, F]``."""
    if last.ndim == 3:
        return last[:, prefix:]
    if getattr(backbone, "output_fmt", "NCHW") == "NHWC":
        return last.flatten(1, 2)
    return last.flatten(2).transpose(1, 2)


def _behind(backbone: Any, pooled: Tensor) -> Tensor:
    """Apply the normalisation that a transformer keeps for what is pooled, if it has one."""
    norm = getattr(backbone, "fc_norm", None)
    return pooled if norm is None else norm(pooled)


PROJECTIONS = ("random", "pca")
MOST = 4096
"""Images whose features are looked at."""


@dataclass(frozen=True, kw_only=True)
class BackboneParameters:
    model: str = parameter(
        shipped.MODEL,
        help="Name of a timm model, such as resnet18 or vit_small_patch16_224, or hf-hub:owner/name.",
        main=True,
        proposals="trainers.encoders.published:PROPOSALS",
    )
    pretrained: bool = parameter(
        True,
        help="Start from published weights; all but those that come with the program need the network once, or a "
        "filled cache.",
    )
    side: int | None = parameter(
        None,
        low=16,
        high=1024,
        title="Side in the model",
        help="Pixels to which images are scaled for the model. Empty: what a model of a fixed size takes, else as they "
        "are read.",
    )
    pooling: str = parameter(
        "published",
        choices=POOLINGS,
        help="How the last map or the tokens become one vector: as published, their average, their generalised mean "
        "(GeM, power 3), or the class token.",
    )
    projection: str = parameter(
        "random",
        choices=PROJECTIONS,
        help="How a linear head begins: with random weights, or with the principal components of the training images' "
        "features, as for landmarks in Ramzi et al. 2023.",
    )
    head: str = parameter(
        "linear",
        choices=HEADS,
        help="What is trained on the features: a residual (begins as the features themselves), one layer, or two.",
    )
    hidden: int | None = parameter(
        None,
        low=0,
        high=4096,
        help="Width of the hidden layer of a residual (empty: 128) or of two layers (512). 0: the head is linear.",
    )

    @property
    def kind(self) -> str:
        """Of its head, one of :data:`HEADS`."""
        return "linear" if self.hidden == 0 else self.head


@dataclass(frozen=True, kw_only=True)
class TimmParameters(BackboneParameters):
    layer_norm: bool = parameter(
        False, help="Layer normalisation without gain and shift in front of a linear head, as in Ramzi et al. 2023."
    )
    last_blocks: int | None = parameter(
        None, low=0, high=200, help="How many blocks are trained, counted from the head; the others stay. Empty: all."
    )
    layer_decay: float = parameter(
        1.0,
        low=0.1,
        high=1.0,
        help="Learning rate of a block as a share of the one behind it; the head has the whole rate. 1: all the same.",
    )


@dataclass(frozen=True, kw_only=True)
class FrozenParameters(BackboneParameters):
    head: str = default_of(BackboneParameters, "head", "residual")


class _Backbone(Encoder):
    """A timm model without its classifier, ``backbone``.

    Attributes:
        given_side: to which images are scaled for it, in pixels; None: they stay as they are.
        made: the expression that makes it with random weights.
    """

    wraps = "backbone"
    head: nn.Module

    def __init__(self, parameters: BackboneParameters) -> None:
        backbone, mean, std, self.given_side, self.made = _load(
            parameters.model, parameters.pretrained, parameters.side
        )
        super().__init__(mean=mean, std=std)
        self.backbone = backbone
        self.pooling = parameters.pooling
        self.seen_as = f"{self.pooling}, {self.given_side}"
        if parameters.projection == "pca" and parameters.kind == "mlp":
            raise ParameterError(
                f"Principal components are a linear projection, and the head has a hidden layer of "
                f"{parameters.hidden or WIDTHS['mlp']}. Choose a residual or linear head, or projection random."
            )
        self.fitted = parameters.projection == "pca" or parameters.kind == "residual"
        self.width = width(backbone, parameters.pooling)
        if parameters.model == shipped.MODEL and parameters.pretrained:
            self.origin = shipped.ORIGIN

    def features(self, images: Tensor) -> Tensor:
        return pool(self.backbone, _resized(self.normalise(images), self.given_side), self.pooling)

    def fit(self, features: Tensor) -> None:
        fit(self.head, features.float())

    @classmethod
    def dim_of(cls, parameters: BackboneParameters) -> int | None:
        return _width(parameters.model, parameters.pooling) if parameters.kind == "residual" else None

    def _made_head(self, parameters: BackboneParameters, dim: int, *, norm: bool) -> nn.Module:
        if parameters.kind == "linear":
            linear = nn.Linear(self.width, dim)
            return nn.Sequential(plain_norm(self.width), linear) if norm else linear
        hidden = parameters.hidden or WIDTHS[parameters.kind]
        return (ResidualHead if parameters.kind == "residual" else layered)(self.width, dim, hidden)


@lru_cache(maxsize=64)
def _width(model: str, pooling: str) -> int:
    """Return F of a model by its name; nothing is loaded."""
    import torch._dynamo  # the first use of torch's meta device imports it

    with torch.device("meta"):
        return width(_load(model, False, None)[0], pooling)


class Timm(_Backbone):
    """A timm backbone and a linear layer, trained whole or in its last blocks."""

    def __init__(self, parameters: TimmParameters, *, dim: int, **_images: Any) -> None:
        super().__init__(parameters)
        self.head = self._made_head(parameters, dim, norm=parameters.layer_norm)
        self._decay = parameters.layer_decay
        self._last = parameters.last_blocks
        if self._last is not None:
            freeze_all_but(self.backbone, self._last)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.features(images))

    def train(self, mode: bool = True) -> Timm:
        """Switch between training and evaluation; blocks that are not trained keep their batch statistics."""
        super().train(mode)
        if self._last is not None:
            for layer in self.batch_norms():
                layer.training &= all(weight.requires_grad for weight in layer.parameters())
        return self

    def keep_fewer_activations(self) -> bool:
        """See :class:`Encoder`; what is between two blocks is kept, as timm does it."""
        try:
            self.backbone.set_grad_checkpointing(True)
        except (AttributeError, AssertionError):  # timm's models that cannot have none, or refuse
            return False
        return True

    def rates(self) -> dict[nn.Parameter, float]:
        return {} if self._decay == 1 else decayed(self.backbone, self._decay)


class FrozenTimm(_Backbone):
    """A timm backbone that is never trained, and a head that is."""

    frozen = True

    def __init__(self, parameters: FrozenParameters, *, dim: int, **_images: Any) -> None:
        super().__init__(parameters)
        self.backbone.eval().requires_grad_(False)
        self.head = self._made_head(parameters, dim, norm=True)

    def train(self, mode: bool = True) -> FrozenTimm:
        """Switch the head only: the backbone's batch statistics stay as they are."""
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        """See :class:`Encoder`: takes features."""
        return self.head(images)


def _missing(parameters: BackboneParameters) -> str | None:
    if find_spec("timm") is None:
        return "This encoder needs the timm library: pip install timm"
    if not parameters.pretrained:
        return None
    from trainers.encoders.published import weights_missing

    return weights_missing(parameters.model)


def _load(
    name: str, pretrained: bool, side: int | None
) -> tuple[Any, tuple[float, ...], tuple[float, ...], int | None, str]:
    """Load the model without its classifier, its pixels' mean and deviation, the side that it is given (None: any), and
    the expression that makes it with random weights.

    A model of a fixed size is made for ``side``: its position embeddings are resampled.
    """
    with importing():
        import timm

    hub = hub_model(name)
    known = name if hub is None else hub.architecture
    if not timm.is_model(known.split(".")[0]) or ":" in known:
        raise UserError(f"{known!r} is not the name of a timm model. timm.list_models() lists them all.")
    if hub is None:
        config = timm.models.get_pretrained_cfg(name, allow_unregistered=False)
        fixed = bool(config is not None and config.fixed_input_size)
        more: dict[str, Any] = {}
    else:
        fixed = bool(hub.about.get("fixed_input_size"))
        usual = timm.models.get_pretrained_cfg(known, allow_unregistered=False)
        layers = {} if usual is None else {"classifier": usual.classifier, "first_conv": usual.first_conv}
        more = {**hub.arguments, "pretrained_cfg": layers | dict(hub.about)}
    sized: dict[str, Any] = {"img_size": side} if fixed and side else {}
    try:
        if pretrained and name == shipped.MODEL:
            model: Any = shipped.load()
        else:
            model = timm.create_model(known, pretrained=pretrained, num_classes=0, **sized, **more)
    except UserError:
        raise
    except Exception as error:  # timm, the Hub client and the network raise many kinds
        raise UserError(
            f"The weights of {name} could not be loaded ({type(error).__name__}). "
            "Check the network, or switch pretrained off to start from random weights."
        ) from error
    about = model.pretrained_cfg
    native_side = about["input_size"][-1] if fixed else None
    written: dict[str, Any] = {"num_classes": 0, **(more if hub is None else hub.arguments), **sized}
    if hub is not None and fixed:
        written.setdefault("img_size", native_side)
    words = ", ".join(f"{name}={value!r}" for name, value in written.items())
    made = f"timm.create_model({json.dumps(known)}, {words})"
    return model, tuple(about["mean"]), tuple(about["std"]), side or native_side, made


def _resized(images: Tensor, side: int | None) -> Tensor:
    if side is None or images.shape[-1] == side:
        return images
    return F.interpolate(images, size=(side, side), mode="bicubic", antialias=True)


_TIMM_MODELS = (
    EncoderDescriptor(
        name="timm_frozen",
        title="Frozen features + head",
        sentence="A timm model computes features once; a small head alone is trained.",
        parameters=FrozenParameters,
        make=FrozenTimm,
        learning_rate=1e-4,
        frozen=True,
        missing=_missing,
        order=2,
    ),
    EncoderDescriptor(
        name="timm",
        title="timm model",
        sentence="Any timm model, trained whole; needs a GPU, but for the smallest.",
        parameters=TimmParameters,
        make=Timm,
        learning_rate=1e-4,
        missing=_missing,
        order=3,
    ),
)


DESCRIPTORS = (*_TIMM_MODELS,)
