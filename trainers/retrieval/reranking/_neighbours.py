"""Nearest neighbours of every image among the same images, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from trainers.metrics.blocks import BLOCK, EXACT


def unit_rows(rows: np.ndarray) -> Tensor:
    """Scale rows ``[N, D]`` to length one, float64 where all products are cheap, as for the metrics, else float32."""
    number = torch.float64 if len(rows) ** 2 <= EXACT else torch.float32
    return torch.nn.functional.normalize(torch.from_numpy(np.ascontiguousarray(rows)).to(number), dim=1, eps=1e-12)


def cosine_blocks(rows: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield slices of the images and their cosines ``[b, N]`` with all of them."""
    step = max(1, BLOCK // max(len(rows), 1))
    for first in range(0, len(rows), step):
        part = slice(first, min(first + step, len(rows)))
        yield part, rows[part] @ rows.T


def squared_distances(part: slice, cosines: Tensor) -> Tensor:
    """Return the squared Euclidean distances of a block of unit rows, exactly 0 to the image itself; ``[b, N]``."""
    distance = (2 - 2 * cosines).clamp_(min=0)
    rows = torch.arange(part.start, part.stop)
    distance[rows - part.start, rows] = 0
    return distance


def top(part: slice, distance: Tensor, k: int) -> np.ndarray:
    """Return each image itself and its k - 1 nearest others, nearest first, equal ones by index: int64 ``[b, k]``.

    Args:
        distance: ``[b, N]``, of the images ``part``; k: at most N.
    """
    queries = torch.arange(part.start, part.stop)
    distance[queries - part.start, queries] = -1  # before copies of itself
    values, ids = distance.topk(k, dim=1, largest=False)
    distance[queries - part.start, queries] = 0
    edge = values[:, -1:]
    for row in torch.nonzero((distance <= edge).sum(1) > k)[:, 0].tolist():  # which of the farthest is chance in topk
        order = distance[row].clone()
        order[part.start + row] = -1
        ids[row] = order.argsort(stable=True)[:k]
        values[row] = order[ids[row]]
    rows, distances = ids.numpy(), values.numpy()
    return np.take_along_axis(rows, np.lexsort((rows, distances), axis=1), axis=1)
