"""What a similarity hangs on: a query is covered patch by patch, and what the similarity loses is a map of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.errors import ParameterError
from trainers.progress import Progress, silent
from trainers.training.embedding import ImageEncoder

GRID = 10
"""Patches beside each other, unless other many are asked for."""
MOST = 28
"""At most: 784 patches."""
_AT_ONCE = 128


@dataclass(frozen=True, kw_only=True)
class Occlusion:
    """The map of one encoder.

    Attributes:
        similarity: of the query as it is, mean over the targets.
        falls: float64 ``[G, G]``, rows from the top: how much less it is while the patch is covered; below 0 it rises.
    """

    similarity: float
    falls: np.ndarray


def edges(side: int, grid: int) -> list[int]:
    """Return where the patches of a side begin and end, ``G + 1`` pixels; they differ by one pixel at most.

    Raises:
        ParameterError: there are no so many patches.
    """
    if not 2 <= grid <= min(MOST, side):
        raise ParameterError(f"A map has 2 to {min(MOST, side)} patches on each side; got {grid}.")
    return [round(number * side / grid) for number in range(grid + 1)]


def covered(image: Tensor, colour: Tensor, grid: int, patches: range | None = None) -> Tensor:
    """Return an image uint8 ``[C, S, S]`` with each of its patches in a colour ``[C]``: ``[G * G, C, S, S]``.

    Args:
        patches: by number from the top left, row by row; None: all.
    """
    at = edges(int(image.shape[-1]), grid)
    wanted = range(grid * grid) if patches is None else patches
    images = image.expand(len(wanted), *image.shape).clone()
    for place, number in enumerate(wanted):
        down, right = divmod(number, grid)
        images[place, :, at[down] : at[down + 1], at[right] : at[right + 1]] = colour[:, None, None]
    return images


def occlude(
    encoder: ImageEncoder,
    image: Tensor,
    targets: Tensor,
    *,
    colour: Tensor,
    grid: int = GRID,
    progress: Progress = silent,
) -> Occlusion:
    """Cover a query patch by patch.

    Args:
        image: uint8 ``[C, S, S]``, as the encoder takes it.
        targets: unit rows float32 ``[n, D]``, whose mean cosine with the query is looked at.
        colour: uint8 ``[C]``, of what is covered.
        progress: told the fraction; it may raise to stop.

    Raises:
        UserError: there are no so many patches, or the encoder's training diverged.
    """
    goal = targets.double().mean(dim=0)
    similarity, every = [encoder.embed(image[None]).double() @ goal], grid * grid
    for first in range(0, every, _AT_ONCE):
        progress(f"covering patches: {first:,} of {every:,}", first / every)
        some = covered(image, colour, grid, range(first, min(first + _AT_ONCE, every)))
        similarity.append(encoder.embed(some).double() @ goal)
    values = torch.cat(similarity).numpy()
    return Occlusion(similarity=float(values[0]), falls=(values[0] - values[1:]).reshape(grid, grid))
