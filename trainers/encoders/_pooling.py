"""Pooling of a timm model's last map or tokens into one vector an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from trainers.errors import ParameterError

GEM_POWER = 3.0
"""Of the generalised mean: where Radenovic et al. (2019, "Fine-tuning CNN image retrieval with no human annotation",
section 3.2) begin; it is not trained here."""
_SMALLEST = 1e-6


def _gem(features: Tensor) -> Tensor:
    return features.clamp(min=_SMALLEST).pow(GEM_POWER).mean(1).pow(1 / GEM_POWER)


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
        if last.ndim != 3 or not prefix:
            raise ParameterError(
                "Pooling 'cls' takes a class token, and this model has none. Choose 'published', 'average' or 'gem'."
            )
        return _behind(backbone, last[:, 0])
    return _behind(backbone, _MEANS[pooling](_places(backbone, last, prefix)))


def width(backbone: Any, pooling: str) -> int:
    """Return F, the numbers that :func:`pool` gives."""
    published = getattr(backbone, "head_hidden_size", None)  # of models with a layer between pooling and classifier
    return int(published or backbone.num_features) if pooling == "published" else int(backbone.num_features)


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
