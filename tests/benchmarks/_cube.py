"""The rank losses the obvious way, for comparison: every difference of every pair of gallery items, ``[B, G, G]``.

Plain autograd over masked cubes, as the formulas read. Values and gradients equal the library's; cost does not.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

TAU, RHO, DELTA, START = 0.01, 100.0, 0.05, 0.5
OFFSET = START + 1.0 / (1.0 + math.exp(-DELTA / TAU))


def _cube(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Unit rows ``[B, D]``, level counts ``[B, G]`` and gaps ``[B, i, j] = s_j - s_i``."""
    rows = functional.normalize(embeddings, dim=1)
    similarity = rows @ rows.T
    levels = (labels[:, None] == labels[None]).sum(-1)
    return rows, levels, similarity[:, None, :] - similarity[:, :, None]


def _sup_ranks(levels: Tensor, gap: Tensor) -> tuple[Tensor, Tensor]:
    """rank+ and rank, ``[B, G]``, of every item."""
    lower = levels[:, None, :] < levels[:, :, None]
    itself = torch.eye(levels.shape[1], dtype=torch.bool, device=gap.device)
    sigmoid = torch.sigmoid(gap / TAU)
    bound = torch.where(gap > DELTA, RHO * (gap - DELTA) + OFFSET, sigmoid + START * (gap > 0))
    counted = 1.0 + ((gap >= 0) & ~lower & ~itself).sum(-1)
    return counted, counted + (bound * lower).sum(-1)


def smooth_ap(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Smooth-AP on the finest level."""
    _, levels, gap = _cube(embeddings, labels[:, :1])
    positive = levels > 0
    sigmoid = torch.sigmoid(gap / TAU) * ~torch.eye(len(labels), dtype=torch.bool, device=gap.device)
    ratio = (1.0 + (sigmoid * positive[:, None, :]).sum(-1)) / (1.0 + sigmoid.sum(-1))
    return (1.0 - (ratio * positive).sum(1) / positive.sum(1)).mean()


def sup_ap(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Sup-AP on the finest level."""
    _, levels, gap = _cube(embeddings, labels[:, :1])
    above, rank = _sup_ranks(levels, gap)
    positive = levels > 0
    return (1.0 - (above / rank * positive).sum(1) / positive.sum(1)).mean()


def roadmap(embeddings: Tensor, labels: Tensor) -> Tensor:
    """0.9 Sup-AP + 0.1 calibration."""
    rows = functional.normalize(embeddings, dim=1)
    similarity = rows @ rows.T
    same = labels[:, None, 0] == labels[None, :, 0]
    pull, push = (0.9 - similarity).clamp(min=0) * same, (similarity - 0.6).clamp(min=0) * ~same
    pull = pull * ~torch.eye(len(labels), dtype=torch.bool, device=rows.device)
    pairs = pull.sum() / (pull > 0).sum().clamp(min=1) + push.sum() / (push > 0).sum().clamp(min=1)
    return 0.9 * sup_ap(embeddings, labels) + 0.1 * pairs


def happier(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Sup-H-AP, without the proxies."""
    _, levels, gap = _cube(embeddings, labels)
    rank = _sup_ranks(levels, gap)[1]
    depth = labels.shape[1]
    alike = torch.stack([(levels == v).sum(1) for v in range(depth + 1)], dim=1).gather(1, levels)
    relevance = (levels / depth) / alike
    weight = torch.minimum(relevance[:, None, :], relevance[:, :, None])
    counted = (weight * (gap >= 0)).sum(-1)
    return (1.0 - (counted / rank).sum(1) / relevance.sum(1)).mean()


def rod_ndcg(embeddings: Tensor, labels: Tensor) -> Tensor:
    """Sup-NDCG, without the proxies."""
    _, levels, gap = _cube(embeddings, labels)
    _, rank = _sup_ranks(levels, gap)
    gain = torch.exp2(levels.to(gap.dtype)) - 1.0
    best = gain.sort(dim=1, descending=True).values
    places = torch.arange(1, gain.shape[1] + 1, device=gap.device)
    return (1.0 - (gain / torch.log2(1.0 + rank)).sum(1) / (best / torch.log2(1.0 + places)).sum(1)).mean()


CUBES = {"smooth_ap": smooth_ap, "sup_ap": sup_ap, "roadmap": roadmap, "happier": happier, "rod_ndcg": rod_ndcg}
