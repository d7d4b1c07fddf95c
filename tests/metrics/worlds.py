"""Small labelled embeddings for the metric tests."""

from __future__ import annotations

import numpy as np
import torch

from trainers.metrics import evaluate


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


def listed(levels: list[list[int]], depth: int, names: list[str]) -> dict[str, np.ndarray]:
    """Metrics of ranked lists given as levels shared with the query, best first: float64 arrays, one entry a list."""
    scores = []
    for shared in levels:
        angle = torch.linspace(0.1, 3.0, len(shared), dtype=torch.float64)
        gallery = torch.stack([angle.cos(), angle.sin()], 1)
        own = torch.arange(1, len(shared) + 1)[:, None].expand(-1, depth)
        labels = torch.where(torch.arange(depth) >= depth - torch.tensor(shared)[:, None], 0, own)
        query, zeros = torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.zeros(1, depth, dtype=torch.int64)
        scores.append(evaluate(query, zeros, gallery, labels, metrics=names, per_query=True))
    return {name: np.concatenate([score[name] for score in scores]) for name in names}
