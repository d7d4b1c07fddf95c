"""Photos and sentences through a model, in batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

from trainers.data.base import Progress, silent
from trainers.image_text.base import CrossModal

BATCH = 256


def squash(pixels: np.ndarray, side: int) -> Tensor:
    """A photo uint8 ``[H, W, 3]`` as uint8 ``[3, side, side]``, the whole of it: nothing is cropped."""
    if pixels.shape[:2] != (side, side):
        pixels = np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC))
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)).copy())


def device_of(model: CrossModal) -> torch.device:
    """Where the model lives."""
    return next(model.parameters()).device


@torch.inference_mode()
def encode_photos(model: CrossModal, images: Tensor, *, batch: int = BATCH, progress: Progress = silent) -> Tensor:
    """Unit embeddings float32 ``[N, D]`` on the CPU of photos uint8 ``[N, 3, side, side]``; the mode is restored."""
    was_training, device = model.training, device_of(model)
    model.eval()
    found = []
    for start in range(0, len(images), batch):
        progress("looking at photos", start / len(images))
        part = images[start : start + batch].to(device).float() / 255
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            raw = model.image_features(part)
        found.append(F.normalize(raw.float(), dim=1).cpu())
    model.train(was_training)
    return torch.cat(found)


@torch.inference_mode()
def encode_texts(
    model: CrossModal, texts: Sequence[str] | Tensor, *, batch: int = BATCH, progress: Progress = silent
) -> Tensor:
    """Unit embeddings float32 ``[N, D]`` on the CPU of sentences, or of their tokens; the mode is restored."""
    was_training, device = model.training, device_of(model)
    model.eval()
    found = []
    for start in range(0, len(texts), batch):
        progress("reading sentences", start / len(texts))
        part = texts[start : start + batch]
        tokens = part if isinstance(part, Tensor) else model.tokenise(part)
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            raw = model.text_features(tokens.to(device))
        found.append(F.normalize(raw.float(), dim=1).cpu())
    model.train(was_training)
    return torch.cat(found)
