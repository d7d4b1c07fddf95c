"""Frozen features, computed once and cached by content."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import torch
from safetensors import SafetensorError
from torch import Tensor

from trainers.data.settings import cache_folder
from trainers.encoders import Encoder
from trainers.runs.files import read_tensors, write_tensors
from trainers.training.deferred import arriving
from trainers.training.host import send

BATCH = 64


def frozen_features(
    encoder: Encoder,
    images: Tensor,
    *,
    fingerprint: str,
    device: torch.device,
    progress: Callable[[str, float], None],
) -> Tensor:
    """Features of all images, from the cache when the same weights saw the same images before.

    Args:
        encoder: with ``frozen`` set.
        images: uint8 ``[N, C, H, W]``.
        fingerprint: of the images and their order.
        device: where to compute.
        progress: told in words and as a fraction.

    Returns:
        float16 ``[N, F]`` on the CPU.
    """
    folder = cache_folder()
    path = None if folder is None else folder / "features" / f"{_key(encoder, fingerprint)}.safetensors"
    if path is not None and path.is_file():
        try:
            return read_tensors(path)[0]["features"]
        except (OSError, KeyError, SafetensorError):
            path.unlink(missing_ok=True)  # a damaged cache is made again
    features = _compute(encoder, images, device, progress)
    if path is not None:
        try:
            write_tensors(path, {"features": features})
        except OSError:
            progress("the features are not cached: the cache folder cannot be written", 1.0)
    return features


@torch.inference_mode()
def _compute(encoder: Encoder, images: Tensor, device: torch.device, progress: Callable[[str, float], None]) -> Tensor:
    encoder.eval()

    def computed() -> Iterator[Tensor]:
        for start in range(0, len(images), BATCH):
            progress("computing frozen features", start / len(images))
            pixels = send(images[start : start + BATCH], device).float().div_(255)
            yield encoder.features(pixels).half()

    return torch.cat(list(arriving(computed())))


def _key(encoder: Encoder, fingerprint: str) -> str:
    """Digest of the images' fingerprint and of every frozen weight."""
    digest = hashlib.sha256(fingerprint.encode())
    for name, value in sorted(encoder.state_dict().items()):
        if name.startswith("backbone."):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:32]
