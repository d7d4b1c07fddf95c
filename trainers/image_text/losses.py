"""Losses of image-text models, of raw embeddings ``[B, D]`` twice; row i of both belongs together.

Rows are normalised here. Half precision is converted to float32, inside autocast too: bfloat16 rounds a cosine near one
by up to 0.002, which CLIP's largest scale of 100 turns into a fifth of a nat.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from trainers.errors import UserError

LARGEST_LOG_SCALE = math.log(100)
"""CLIP keeps its scale's logarithm from 0 to here: above it training becomes unstable (Radford et al. 2021, 2.5)."""

SIGLIP_LOG_SCALE, SIGLIP_BIAS = math.log(10), -10.0
"""SigLIP's initial values, which make the many unmatched pairs of a batch cheap (Zhai et al. 2023, 3.2)."""

MARGIN = 0.2
"""VSE++'s margin between cosines (Faghri et al. 2018, 4)."""

_SMALLEST_LENGTH = 1e-8  # shorter rows are not scaled to length one, so that a row of zeros has a finite gradient


def clip_loss(images: Tensor, texts: Tensor, scale: Tensor | float) -> Tensor:
    """Compute symmetric InfoNCE (Radford et al. 2021, figure 3): of images to captions and back.

    Args:
        images: raw embeddings float ``[B, D]``.
        texts: the same of the captions.
        scale: multiplies the cosines: one over the temperature, already out of its logarithm.

    Returns:
        The mean over both directions and all pairs, float32 or float64, without shape.

    Raises:
        UserError: fewer than two pairs, or shapes that do not fit.
    """
    with torch.autocast(images.device.type, enabled=False):
        logits = _wide(scale) * _cosines(images, texts)
        targets = torch.arange(len(logits), device=logits.device)
        return (functional.cross_entropy(logits, targets) + functional.cross_entropy(logits.T, targets)) / 2


def siglip_loss(images: Tensor, texts: Tensor, scale: Tensor | float, bias: Tensor | float) -> Tensor:
    """Compute the sigmoid loss (Zhai et al. 2023, equation 1): each pair of the batch is classified on its own.

    Args:
        images: raw embeddings float ``[B, D]``.
        texts: the same of the captions.
        scale: multiplies the cosines, already out of its logarithm.
        bias: added to them; negative, because most pairs do not match.

    Returns:
        The sum over all B x B pairs divided by B, float32 or float64, without shape.

    Raises:
        UserError: fewer than two pairs, or shapes that do not fit.
    """
    with torch.autocast(images.device.type, enabled=False):
        logits = _wide(scale) * _cosines(images, texts) + _wide(bias)
        sign = 2 * torch.eye(len(logits), device=logits.device, dtype=logits.dtype) - 1
        return -functional.logsigmoid(sign * logits).sum() / len(logits)


def hardest_triplet_loss(images: Tensor, texts: Tensor, margin: float = MARGIN) -> Tensor:
    """Compute max of hinges (VSE++, Faghri et al. 2018, section 3.2), both directions: only the hardest negative
    counts.

    Args:
        images: raw embeddings float ``[B, D]``.
        texts: the same of the captions.
        margin: by which a pair's cosine has to beat every other in its row and column.

    Returns:
        Both hinges added, the mean over pairs (the published code sums), float32 or float64, without shape.

    Raises:
        UserError: fewer than two pairs, or shapes that do not fit.
    """
    with torch.autocast(images.device.type, enabled=False):
        cosines = _cosines(images, texts)
        matching = torch.eye(len(cosines), dtype=torch.bool, device=cosines.device)
        others = cosines.masked_fill(matching, -math.inf)
        hardest = torch.stack([others.amax(1), others.amax(0)])
        return (margin + hardest - cosines.diagonal()).clamp_min(0).sum(0).mean()


def _cosines(images: Tensor, texts: Tensor) -> Tensor:
    """Return cosines ``[B, B]``, a row for each image, a column for each caption."""
    if images.ndim != 2 or images.shape != texts.shape:
        raise UserError(
            "Images and captions need embeddings [pairs, dimension] of one shape; "
            f"got {list(images.shape)} and {list(texts.shape)}."
        )
    if len(images) < 2:
        raise UserError(
            f"This loss compares each pair with the others of its batch and needs at least 2; got {len(images)}. "
            "Choose larger batches."
        )
    first, second = (functional.normalize(_wide(side), dim=1, eps=_SMALLEST_LENGTH) for side in (images, texts))
    return first @ second.T


def _wide(value: Tensor | float) -> Tensor:
    """Convert to float32 at least."""
    value = torch.as_tensor(value)
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value
