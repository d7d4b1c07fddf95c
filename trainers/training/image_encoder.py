"""A trained encoder of images as evaluation uses it, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trainers.data.pixel_range import PixelRange
from trainers.errors import RunError
from trainers.progress import Progress, silent
from trainers.training.embedding import embed


@dataclass(frozen=True, kw_only=True)
class ImageEncoder:
    """Embeds images as the evaluation of a run does.

    Attributes:
        run, arm: where its weights come from; of a file or a model its name, and 0.
        step: of the checkpoint; 0: not known.
        channels, side: of the images that it was trained on.
        digest: of its weights, hexadecimal.
        pixel_range: the values that are black and white in images of more than 8 bits, as it was trained; None: it was
            trained on none.
        network: in evaluation mode; from pixels 0..1 to raw embeddings.
        device: where it is.
    """

    run: str
    arm: int
    step: int
    channels: int
    side: int
    digest: str
    network: nn.Module
    device: torch.device
    pixel_range: PixelRange | None = None

    def embed(self, images: Tensor, progress: Progress = silent) -> Tensor:
        """Embed images uint8 ``[N, C, H, W]`` as unit rows float32 ``[N, D]`` on the CPU.

        Raises:
            RunError: some are not finite numbers: training diverged.
        """
        count = len(images)
        vectors = embed(
            self.network, images, self.device, lambda done: progress(f"embedding {done:,} of {count:,}", done / count)
        )
        if not torch.isfinite(vectors).all():
            raise RunError(
                f"Arm {self.arm} of run {self.run} does not embed images as finite numbers: its training diverged."
            )
        return vectors


@dataclass(frozen=True, kw_only=True)
class Encoders:
    """Encoders that belong together: the arms of a run, or one alone.

    Attributes:
        id: of the run; else the name of the file or model.
        titles: one each.
        data: the images that they were trained on, a :class:`trainers.config.DataChoice` or
            :class:`trainers.config.SceneChoice`; None: not known.
        seed: of their training.
        read: loads the encoder of a number; it raises UserError where it cannot be had.
    """

    id: str
    titles: tuple[str, ...]
    data: Any = None
    seed: int = 0
    read: Callable[[int], ImageEncoder]
