"""Encode images and captions with a model, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

from trainers.devices.precision import autocast
from trainers.image_text.base import ImageTextModel
from trainers.progress import Progress, silent

BATCH = 256


def squash(pixels: np.ndarray, side: int) -> Tensor:
    """Resize an image uint8 ``[H, W, 3]`` to a square uint8 ``[3, side, side]``; nothing is cropped."""
    if pixels.shape[:2] != (side, side):
        pixels = np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC))
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)).copy())


def device_of(model: ImageTextModel) -> torch.device:
    """Return the device that the model is on."""
    return next(model.parameters()).device


def encode_images(model: ImageTextModel, images: Tensor, *, progress: Progress = silent) -> Tensor:
    """Encode images uint8 ``[N, 3, side, side]`` as unit rows float32 ``[N, D]`` on the CPU; the mode is restored."""
    device = device_of(model)

    def embed(rows: slice) -> Tensor:
        return model.image_features(images[rows].to(device).float() / 255)

    return _encode(model, embed, len(images), lambda share: progress("encoding images", share))


def encode_texts(model: ImageTextModel, texts: Sequence[str] | Tensor, *, progress: Progress = silent) -> Tensor:
    """Encode captions, or their tokens, as unit rows float32 ``[N, D]`` on the CPU; the mode is restored."""
    device = device_of(model)

    def embed(rows: slice) -> Tensor:
        part = texts[rows]
        tokens = part if isinstance(part, Tensor) else model.tokenise(part)
        return model.text_features(tokens.to(device))

    return _encode(model, embed, len(texts), lambda share: progress("encoding captions", share))


@torch.inference_mode()
def _encode(
    model: ImageTextModel, embed: Callable[[slice], Tensor], count: int, progress: Callable[[float], None]
) -> Tensor:
    was_training, device = model.training, device_of(model)
    model.eval()
    embeddings = []
    for start in range(0, count, BATCH):
        progress(start / count)
        with autocast(device):
            raw = embed(slice(start, start + BATCH))
        embeddings.append(F.normalize(raw.float(), dim=1).cpu())
    model.train(was_training)
    return torch.cat(embeddings)
