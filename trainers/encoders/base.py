"""The base class and the descriptor of encoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from trainers.registry import Descriptor

DIM = 64
"""Numbers of an embedding, where no size is given and the encoder has none of its own."""


class Encoder(nn.Module):
    """Maps pixels to raw embeddings; normalisation to unit length belongs to the losses and metrics.

    A subclass either embeds pixels (``body``) or, with ``frozen`` features, has a ``backbone`` that turns pixels into
    feature vectors once and a small ``head`` that is trained on those.

    Attributes:
        behind: names of its layers behind the pooled features.
        wraps: name of the one layer before these, if it is a library's model; else empty.
        width: F, numbers that these layers take.
        frozen_norm: in training, too, batch normalisation in front of these layers uses its running statistics, and
            leaves them as they are. Layers behind the pooled features begin anew in every run, so there is nothing
            that those could keep.
        fitted: its head begins as features of the training images say, see :meth:`fit`.
        seen_as: how images become features, apart from the weights; empty if there is one way.
        origin: which published weights it begins with, for the log of a run; empty: nothing is to be said.
        encodes: names of the methods that encode a batch in training, row by row but for batch statistics.
    """

    frozen = False
    frozen_norm = False
    fitted = False
    seen_as: str = ""
    origin: str = ""
    encodes: ClassVar[tuple[str, ...]] = ("forward",)
    behind: ClassVar[tuple[str, ...]] = ("head",)
    wraps: ClassVar[str] = ""
    width: int
    mean: Tensor
    std: Tensor

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
        """Compute frozen features float ``[B, F]`` of images float ``[B, C, H, W]`` in 0..1; only when ``frozen``."""
        raise NotImplementedError

    def fit(self, features: Tensor) -> None:
        """Set the head by features float ``[N, F]`` of training images; only when :attr:`fitted`."""
        raise NotImplementedError

    @classmethod
    def dim_of(cls, parameters: Any) -> int | None:
        """Return D where its embeddings have as many numbers as its features unless another size is given; else None.

        Raises:
            UserError: the model cannot be made.
        """
        return None

    def rates(self) -> dict[nn.Parameter, float]:
        """Return the share of the learning rate of those weights that have another than the whole."""
        return {}

    def train(self, mode: bool = True) -> Encoder:
        """Switch between training and evaluation; see :attr:`frozen_norm`."""
        super().train(mode)
        if self.frozen_norm:
            for layer in self.batch_norms():
                layer.training = False  # this switch alone: those of timm hold dropout and activation
        return self

    def keep_fewer_activations(self) -> bool:
        """Compute most activations again in the backward pass from now on; returns whether it can do that."""
        return False

    def in_front(self) -> list[nn.Module]:
        """Return the layers in front of the pooled features: all but :attr:`behind`."""
        return [layer for name, layer in self.named_children() if name not in self.behind]

    def batch_norms(self) -> list[nn.Module]:
        """Return the batch normalisations in front of the pooled features that have running statistics."""
        layers = (layer for part in self.in_front() for layer in part.modules())
        return [layer for layer in layers if isinstance(layer, _BatchNorm) and layer.track_running_stats]

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

    def pretrained(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether it begins with published weights: what its parameter ``pretrained`` says, if it has one."""
        return bool(getattr(self.checked(parameters), "pretrained", False))

    def dim(self, parameters: Mapping[str, Any]) -> int:
        """Return D of an encoder with these parameters, where no embedding size is given.

        Raises:
            UserError: the encoder cannot be made.
        """
        return self.make.dim_of(self.checked(parameters)) or DIM

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
