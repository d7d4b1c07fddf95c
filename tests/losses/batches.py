"""Small labelled batches that exercise the corners: trees, singletons, ties, galleries."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Raw float64 embeddings with labels, and a separate gallery or None."""

    embeddings: Tensor
    labels: Tensor
    gallery: Tensor | None = None
    gallery_labels: Tensor | None = None
    classes: int


def tree_labels(sizes: list[int], depth: int, generator: torch.Generator) -> Tensor:
    """``[sum(sizes), depth]`` labels of a consistent tree, finest first, rows shuffled."""
    finest = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    columns = [finest]
    for _ in range(depth - 1):
        width = max(2, (int(columns[-1].max()) + 2) // 2)
        parents = torch.randint(0, width, (int(columns[-1].max()) + 1,), generator=generator)
        columns.append(parents[columns[-1]])
    labels = torch.stack(columns, dim=1)
    return labels[torch.randperm(len(labels), generator=generator)]


def draw(
    sizes: list[int],
    depth: int,
    seed: int,
    *,
    dim: int = 6,
    spread: float = 0.5,
    gallery: bool = False,
    ties: bool = False,
) -> Batch:
    """A batch around class centres. ``gallery`` adds a separate one that lacks class 0 and the query itself."""
    generator = torch.Generator().manual_seed(seed)
    labels = tree_labels(sizes, depth, generator)
    centres = torch.randn(len(sizes), dim, generator=generator, dtype=torch.float64)

    def around(rows: Tensor) -> Tensor:
        if ties:  # entries of +-1 in 4 dimensions: cosines are multiples of a half, exactly
            return torch.randint(0, 2, (len(rows), 4), generator=generator, dtype=torch.float64) * 2.0 - 1.0
        noise = torch.randn(len(rows), dim, generator=generator, dtype=torch.float64)
        return centres[rows[:, 0]] + spread * noise

    embeddings = around(labels)
    if not gallery:
        return Batch(embeddings=embeddings, labels=labels, classes=len(sizes))
    kept = labels[labels[:, 0] != 0]
    kept = torch.cat([kept, kept[:3]])
    return Batch(embeddings=embeddings, labels=labels, gallery=around(kept), gallery_labels=kept, classes=len(sizes))


CORNERS = {
    "flat": draw([4, 4, 4], 1, 1),
    "imbalanced": draw([1, 2, 3, 6], 1, 2),
    "two levels": draw([3, 3, 2, 4], 2, 3),
    "three levels, singletons": draw([1, 1, 2, 4, 5], 3, 4),
    "seven levels": draw([2, 1, 3, 2], 7, 5),
    "one class": draw([6], 2, 6),
    "all singletons": draw([1] * 6, 2, 7),
    "gallery": draw([3, 3, 4], 1, 8, gallery=True),
    "gallery, three levels": draw([2, 3, 2, 2], 3, 9, gallery=True),
    "tight": draw([3, 3, 3], 2, 10, spread=0.02),
    "ties": draw([2, 3, 4], 2, 11, ties=True),
}
