"""Frozen features, computed once and cached by content."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import chain

import torch
from torch import Tensor

from trainers.data import cache
from trainers.data.settings import cache_folder
from trainers.encoders import Encoder
from trainers.training.embedding import compute_features

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
    features = compute_features(encoder, images, device, progress)
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
        rows = compute_features(whole, rows, device, progress)
    encoder.cpu().fit(rows.float())


def _key(encoder: Encoder, fingerprint: str) -> str:
    """Return the digest of the images' fingerprint, of how they are seen and of every frozen weight."""
    weights = sorted((name, value) for name, value in encoder.state_dict().items() if name.startswith("backbone."))
    contents = ((name, value.detach().cpu().contiguous().numpy().tobytes()) for name, value in weights)
    return cache.content_key(chain((fingerprint, encoder.seen_as), chain.from_iterable(contents)))
