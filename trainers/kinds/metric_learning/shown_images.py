"""Training images on the maps, in place of the test images that the numbers are of."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.encoders import Encoder
from trainers.training.deferred import HostCopy
from trainers.training.embedding import embedded
from trainers.training.evaluation import Finish, ProbeResult
from trainers.training.folding import folded


class ShownImages:
    """Embeds the images that the maps show beside an evaluation of others.

    Args:
        images: uint8 ``[P, C, H, W]``, or frozen features ``[P, F]``.
        device: where the encoders live.
    """

    def __init__(self, images: Tensor, device: torch.device) -> None:
        self._images, self._device = send(images, device), device

    def beside(self, encoder: Encoder, evaluation: Finish) -> Finish:
        """Add the embeddings of these images to an evaluation; they are queued now."""
        parts = [HostCopy(part) for part in embedded(folded(encoder), self._images, self._device)]

        def finish() -> ProbeResult:
            return replace(evaluation(), embeddings=torch.cat([part.get() for part in parts]))

        return finish
