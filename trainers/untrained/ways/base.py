"""The descriptor of a way to compare images without training, and what it is told of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from trainers.parameters import Choice
from trainers.progress import Progress, silent
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is known beside the images.

    Attributes:
        encoder: of the run, as in its settings; None: it has none.
        features: float ``[N, F]`` of these images by the run's own published encoder, where the run has read them.
        seconds: that may be spent; None: as many as it takes.
        device: where to compute.
        progress: told in words and as a fraction; it may raise to give up.
    """

    encoder: Choice | None = None
    features: Tensor | None = None
    seconds: float | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    progress: Progress = silent


@dataclass(frozen=True, kw_only=True)
class UntrainedDescriptor(Descriptor):
    """A row without training.

    Attributes:
        embed: makes raw embeddings, float ``[N, D]``, of images uint8 ``[N, C, H, W]``; images are compared by their
            cosine. It raises UserError, with what to do, where it cannot or may not.
        of_run: returns what the row depends on beside the images, as its title continues after "of"; empty: on nothing.
        slow: it is made when training has ended, and then only of photographs, within
            :data:`trainers.untrained.scoring.SECONDS`.
    """

    embed: Callable[[Tensor, Setting], Tensor]
    slow: bool = False
    of_run: Callable[[Setting], str] = lambda _setting: ""
