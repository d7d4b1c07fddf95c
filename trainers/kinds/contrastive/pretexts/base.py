"""The descriptor of a pretext task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from trainers.registry import Descriptor


class Augment(Protocol):
    """An augmentation, see :mod:`trainers.training.augmentations`."""

    def __call__(self, images: Tensor, *, seed: int, step: int, view: int) -> Tensor:
        """From uint8 ``[B, C, H, W]`` to float32 ``[B, C, H, W]`` in 0..1."""


@dataclass(frozen=True, kw_only=True)
class PretextDescriptor(Descriptor):
    """One entry of the registry of pretext tasks.

    Attributes:
        view: called as ``view(parameters, images, augment, seed=, step=, view=)`` with uint8 ``[B, C, H, W]``: the view
            of that number of every image, float32 ``[B, C, H, W]`` in 0..1. View 0 is the query. The same seed, step
            and view give the same result.
    """

    view: Callable[..., Tensor]

    def bind(self, parameters: dict[str, Any], augment: Augment) -> Callable[..., Tensor]:
        """:attr:`view` as a function of the images, ``seed``, ``step`` and ``view``."""
        settings = self.checked(parameters)
        return lambda images, *, seed, step, view: self.view(settings, images, augment, seed=seed, step=step, view=view)
