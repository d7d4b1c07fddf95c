"""What the shipped encoder's own classifier sees: how probable it finds each of ImageNet's 1,000 classes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from trainers.encoders import shipped
from trainers.registry import importing

SIDE = 256
"""Of the square images that it is asked about, pixels."""


@lru_cache(maxsize=1)
def class_names() -> tuple[str, ...]:
    """Return the first name of each class as timm has them, in the classifier's order; a few are equal."""
    with importing():
        from timm.data import ImageNetInfo

    info = ImageNetInfo()
    return tuple(info.index_to_description(index).split(",")[0] for index in range(info.num_classes()))


class ImageNetClassifier(nn.Module):
    """EfficientNet-Lite0 with its classifier: images float ``[B, 3, S, S]`` in 0..1 to logits float ``[B, 1000]``.

    Raises:
        UserError: the weights are not installed, or others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.net: Any = shipped.load(classifier=True)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of the classes."""
        logits: Tensor = self.net(2 * images - 1)
        return logits


@torch.inference_mode()
def most_probable(classifier: ImageNetClassifier, images: Tensor, count: int) -> list[list[tuple[str, float]]]:
    """Return for each image the names of the most probable classes, and how probable they are.

    Args:
        classifier: in evaluation mode.
        images: uint8 ``[N, 3, SIDE, SIDE]``.
        count: of classes, 1 to 1,000.
    """
    shares, best = classifier(images.float() / 255).softmax(1).topk(count, 1)
    names = class_names()
    return [
        [(names[index], share) for index, share in zip(*row, strict=True)]
        for row in zip(best.tolist(), shares.tolist(), strict=True)
    ]
