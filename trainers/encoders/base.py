"""The base class and the descriptor of encoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from trainers.registry import Descriptor


class Encoder(nn.Module):
    """Maps pixels to raw embeddings; normalisation to unit length belongs to the losses and metrics.

    A subclass either embeds pixels (``body``) or, with ``frozen`` features, has a ``backbone`` that turns pixels into
    feature vectors once and a small ``head`` that is trained on those.

    Attributes:
        behind: names of its layers behind the pooled features.
        wraps: name of the one layer before these, if it is a library's model; else empty.
        width: F, numbers that these layers take.
    """

    frozen = False
    behind: ClassVar[tuple[str, ...]] = ("head",)
    wraps: ClassVar[str] = ""
    width: int

    def __init__(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).reshape(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).reshape(1, -1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Embed.

        Args:
            images: float ``[B, C, H, W]`` in 0..1, or, when ``frozen``, features float ``[B, F]``.

        Returns:
            float ``[B, D]``, raw.
        """
        raise NotImplementedError

    def features(self, images: Tensor) -> Tensor:
        """Frozen features float ``[B, F]`` of images float ``[B, C, H, W]`` in 0..1; only when ``frozen``."""
        raise NotImplementedError

    def without_head(self) -> int:
        """Take away everything behind the pooled features, for training with a head of another kind.

        Returns:
            numbers F that the encoder puts out from now on.
        """
        for name in self.behind:
            setattr(self, name, nn.Identity())
        return self.width

    def normalise(self, images: Tensor) -> Tensor:
        """Shift and scale pixels as the weights expect; grey images are repeated where colour is needed."""
        if images.shape[1] == 1 and self.mean.shape[1] == 3:
            images = images.expand(-1, 3, -1, -1)
        return (images - self.mean) / self.std


@dataclass(frozen=True, kw_only=True)
class EncoderDescriptor(Descriptor):
    """One entry of the registry of encoders.

    Attributes:
        make: its class, called as ``make(parameters, channels=, side=, dim=)``; draws its weights from torch's global
            generator.
        learning_rate: a default that works with it.
        frozen: it is trained on features that are computed once, from unaugmented images.
    """

    make: type[Encoder]
    learning_rate: float
    frozen: bool = False

    def build(self, *, channels: int, side: int, dim: int, parameters: Mapping[str, Any]) -> Encoder:
        """Make the encoder.

        Args:
            channels: image channels C, 1 or 3.
            side: of the square images, pixels.
            dim: embedding dimension D.
            parameters: by name; missing ones take their defaults.

        Raises:
            ParameterError: a parameter is unknown, of the wrong type or out of range.
            UserError: weights or libraries it needs cannot be loaded.
        """
        make: Callable[..., Encoder] = self.make
        return make(self.checked(parameters), channels=channels, side=side, dim=dim)
