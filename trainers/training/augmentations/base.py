"""The interface of augmentations: pure functions of the images and of (seed, step, view), for whole batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from trainers.registry import Descriptor
from trainers.training.augmentations._draws import Draws

Change = Callable[[Tensor, Draws], Tensor]
"""uint8 ``[B, C, H, W]`` and random numbers for its images -> float32 ``[B, C, H, W]`` in 0..1, on the same device."""

COLOUR = 3
"""Channels of a colour image. Others keep their colours, and are not mirrored: a mirrored letter is another letter."""


@dataclass(frozen=True)
class Augment:
    """A recipe with its parameters, ready for images of so many channels."""

    change: Change

    def __call__(
        self, images: Tensor, *, seed: int, step: int, view: int, count: int | None = None, rows: slice = slice(None)
    ) -> Tensor:
        """Change every image of a batch, or of the part of it that this process has.

        Args:
            images: uint8 ``[B, C, H, W]``, on any device.
            seed, step: of the run; view: which of up to eight views of the batch. The three name the random numbers:
                the same three give the same result on the same device, whatever the global generators hold, which are
                left as they are. The numbers of an image depend on its place in the batch, not on the batch's size.
            count, rows: images of the whole batch, and which of them these are; by default they are the batch.

        Returns:
            float32 ``[B, C, H, W]`` in 0..1 on the device of the images.
        """
        return self.change(images, Draws(count or len(images), seed=seed, step=step, view=view, rows=rows))


@dataclass(frozen=True, kw_only=True)
class AugmentationDescriptor(Descriptor):
    """One entry of the registry of augmentations.

    Attributes:
        paper: where it comes from.
        make: called with checked parameters and the number of channels.
    """

    paper: str
    make: Callable[[Any, int], Change]

    def build(self, parameters: Mapping[str, Any], channels: int) -> Augment:
        """Make it ready for images of ``channels`` channels; parameters by name, missing ones take their defaults.

        Raises:
            ParameterError: a parameter is unknown, of the wrong type or out of range.
        """
        return Augment(self.make(self.checked(parameters), channels))


def unit(images: Tensor) -> Tensor:
    """Convert uint8 pixels to float32 in 0..1."""
    return images.float().div_(255)
