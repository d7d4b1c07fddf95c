"""The interface of samplers: rows of batch number ``step``, a pure function of the labels, the seed and the step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from trainers.registry import Descriptor


class Sampler(Protocol):
    """Draws batches. It keeps no position, so a run that resumes at a step sees what it would have seen."""

    @property
    def batches_per_epoch(self) -> int:
        """Number of batches in which every class occurs at least once."""
        ...

    def batch(self, step: int) -> Tensor:
        """Return int64 ``[classes_per_batch * images_per_class]`` rows, the images of a class side by side."""
        ...


@dataclass(frozen=True, kw_only=True)
class SamplerDescriptor(Descriptor):
    """One entry of the registry of samplers.

    Attributes:
        hierarchy: it needs labels of two levels at least.
        build: ``build(labels, classes_per_batch, images_per_class, seed)``, labels int64 ``[N, L]``, finest first.
    """

    build: Callable[[Tensor, int, int, int], Sampler]
    hierarchy: bool = False
