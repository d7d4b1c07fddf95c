"""Small labelled embeddings for the metric tests."""

from __future__ import annotations

import numpy as np
import torch


def tree(seed: int, count: int, depth: int, branch: int = 2, dim: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """``[N, D]`` float64 embeddings that follow a random label tree ``[N, L]``, finest first, classes of any size."""
    rng = np.random.default_rng(seed)
    finest = rng.integers(0, max(branch**depth, 2), count)
    labels = np.stack([finest // branch**level for level in range(depth)], 1)
    emb = rng.normal(size=(count, dim))
    for level in range(depth):
        centres = np.random.default_rng([seed, level]).normal(size=(labels[:, level].max() + 1, dim))
        emb += 0.6 * centres[labels[:, level]]
    return torch.tensor(emb), torch.tensor(labels)
