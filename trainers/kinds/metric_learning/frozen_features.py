"""Frozen features, computed once and cached by content."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import chain

import torch
from torch import Tensor

from trainers.data import cache
from trainers.data.settings import cache_folder
from trainers.devices.host import send
from trainers.encoders import Encoder
from trainers.training.evaluation import arriving

BATCH = 64
_ON_CPU = 16
"""Images at a time on a CPU: the maps of more are memory that is asked of the system anew in every layer."""
MOST = 4096
"""Training images whose features a head begins with."""


def frozen_features(
    encoder: Encoder,
    images: Tensor,
    *,
    fingerprint: str,
    device: torch.device,
    progress: Callable[[str, float], None],
) -> Tensor:
    """Compute features of all images, or read them from the cache when the same weights saw the same images before.

    Args:
        encoder: with ``frozen`` set.
        images: uint8 ``[N, C, H, W]``.
        fingerprint: of the images and their order.
        device: where to compute.
        progress: told in words and as a fraction.

    Returns:
        float16 ``[N, F]`` on the CPU.
    """
    key = _key(encoder, fingerprint)
    stored = cache.read("features", key)
    if stored is not None:
        return stored.tensors["features"]
    features = _compute(encoder, images, device, progress)
    if not cache.write("features", key, {"features": features}) and cache_folder() is not None:
        progress("the features are not cached: the cache folder cannot be written", 1.0)
    return features


def fit_head(encoder: Encoder, train: Tensor, device: torch.device, progress: Callable[[str, float], None]) -> None:
    """Have an encoder's head begin as features of training images say.

    Args:
        encoder: with ``fitted`` set.
        train: images uint8 ``[N, C, H, W]``, or of a frozen encoder their features ``[N, F]``; of more than
            :data:`MOST` every so many is looked at.
        device: where to compute.
        progress: told in words and as a fraction.
    """
    rows = train[torch.linspace(0, len(train) - 1, min(MOST, len(train))).round().long()]
    if not encoder.frozen:
        whole = copy.deepcopy(encoder).to(device)
        whole.without_head()
        rows = _compute(whole, rows, device, progress)
    encoder.cpu().fit(rows.float())


@torch.inference_mode()
def _compute(encoder: Encoder, images: Tensor, device: torch.device, progress: Callable[[str, float], None]) -> Tensor:
    encoder.eval().to(memory_format=torch.channels_last)
    size = _ON_CPU if device.type == "cpu" else BATCH

    def computed() -> Iterator[Tensor]:
        for start in range(0, len(images), size):
            progress(f"computing frozen features of {len(images):,} images", start / len(images))
            pixels = send(images[start : start + size], device).float().div_(255)
            yield (encoder.features if encoder.frozen else encoder)(pixels).half()

    return torch.cat(list(arriving(computed())))


def _key(encoder: Encoder, fingerprint: str) -> str:
    """Return the digest of the images' fingerprint, of how they are seen and of every frozen weight."""
    weights = sorted((name, value) for name, value in encoder.state_dict().items() if name.startswith("backbone."))
    contents = ((name, value.detach().cpu().contiguous().numpy().tobytes()) for name, value in weights)
    return cache.content_key(chain((fingerprint, encoder.seen_as), chain.from_iterable(contents)))
