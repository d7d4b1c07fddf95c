"""The encoders and image towers of this program as code that makes them without it.

It stands apart from their classes, whose code decides the numbers of claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import torch
from torch import nn

from trainers.encoders.small import Conv4, SmallConv
from trainers.encoders.timm_models import GEM_POWER, SMALLEST, FrozenTimm, Timm
from trainers.image_text.models.open_clip_models import OpenClip
from trainers.image_text.models.tiny_clip import ARCHITECTURE, TinyClip
from trainers.image_text.models.two_towers import TwoTowers
from trainers.image_text.models.vsepp import Vse
from trainers.publishing.code import Code, channels, holding, written

_ANY_SIDE = 64  # of images that a model of no fixed size is tried on


@singledispatch
def code_of(network: nn.Module) -> Code | None:
    """Return how a network, or its image tower, is made and called without this program, from pixels to raw embeddings.

    Of a class of somebody's own this is what its method ``code`` returns; None: it has none.
    """
    own = getattr(network, "code", None)
    made = own() if callable(own) else None
    return made if isinstance(made, Code) else None


@code_of.register
def _(network: Conv4 | SmallConv) -> Code:
    body = Code(call="x", parts={}, mean=channels(network.mean), std=channels(network.std)).then(
        network, ("body", "pool")
    )
    return replace(body, call=f"{body.call}.flatten(1)").then(network, network.behind)


@code_of.register
def _(network: Timm | FrozenTimm) -> Code:
    vector = _pooled(network.backbone, network.pooling, network.given_side or _ANY_SIDE)
    return Code(
        parts={"backbone": network.made},
        call=f"{vector}.half().float()" if network.frozen else vector,  # features are kept so in training
        mean=channels(network.mean),
        std=channels(network.std),
        side=network.given_side,
        needs=("timm",),
    ).then(network, ("head",))


def _pooled(backbone: Any, pooling: str, side: int) -> str:
    """Write what :func:`trainers.encoders.timm_models.pool` does with normalised images ``x`` of a side."""
    if pooling == "published":
        return "net.backbone(x)"
    with torch.no_grad():
        last = backbone.forward_features(torch.zeros(1, 3, side, side))
    if pooling == "cls":
        taken = "[:, 0]"
    elif last.ndim == 3:
        taken = f"[:, {getattr(backbone, 'num_prefix_tokens', 0)}:]"
    else:
        taken = ".flatten(1, 2)" if getattr(backbone, "output_fmt", "NCHW") == "NHWC" else ".flatten(2).mT"
    means = {"average": ".mean(1)", "gem": f".clamp(min={SMALLEST}).pow({GEM_POWER}).mean(1).pow(1 / {GEM_POWER})"}
    vector = f"net.backbone.forward_features(x){taken}{means.get(pooling, '')}"
    return vector if getattr(backbone, "fc_norm", None) is None else f"net.backbone.fc_norm({vector})"


@code_of.register
def _(network: TwoTowers) -> Code | None:
    encoder = code_of(network.encoder)
    return encoder and encoder.within("encoder").then(network, ("projection",))


@code_of.register
def _(network: Vse) -> Code:
    photos = holding({name: written(layer) for name, layer in network.photos.named_children()}, "    ")
    call = "net.photos.out(net.photos.blocks(x).mean((2, 3)))"
    return Code(parts={"photos": photos}, call=call, mean=channels(network.mean), std=channels(network.std))


@code_of.register
def _(network: TinyClip) -> Code:
    return _tower(network, ARCHITECTURE)


@code_of.register
def _(network: OpenClip) -> Code:
    return _tower(network, network.config)


def _tower(network: TinyClip | OpenClip, config: Mapping[str, Any]) -> Code:
    """Write the image tower that open_clip made of ``model_cfg``; no other library does."""
    seen = dict(config["vision_cfg"])
    if "timm_model_name" in seen:
        seen["timm_model_pretrained"] = False
    tower = f"_build_vision_tower({config['embed_dim']}, {seen}, quick_gelu={bool(config.get('quick_gelu'))})"
    return Code(
        parts={"net": holding({"visual": f"open_clip.model.{tower}"}, "    ")},
        call="net.net.visual(x)",
        mean=channels(network.mean),
        std=channels(network.std),
        needs=("open_clip",),
        only="net.visual.",
    )
