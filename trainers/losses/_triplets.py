"""Triplet losses over all triplets, hard, semi-hard or drawn ones, with shapes that depend on labels alone."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from trainers.losses._pairings import Pairings, active_mean

HELD = 2**22  # triplets held at once
CLOSEST, FARTHEST = 0.5, 1.4  # distances between which weighted negatives are drawn (Wu et al. 2017)


def every(pairs: Pairings, margin: float, swap: bool, *, semihard: bool = False) -> Tensor:
    """Return the mean of the positive hinges of all triplets.

    Args:
        pairs: the batch.
        margin: by which a negative should be farther than a positive.
        swap: a negative's distance is that to the nearer of anchor and positive.
        semihard: only triplets whose negative is farther than the positive, by no more than the margin.
    """
    total, count = pairs.distance.new_zeros(()), pairs.distance.new_zeros(())
    column, none = pairs.listed
    among = _among_others(pairs) if swap else None
    for part in _parts(pairs):
        near = pairs.distance.gather(1, column[:, part])[:, :, None]
        far = pairs.distance[:, None]
        counted = pairs.negative[:, None] & ~none[:, part, None]
        if semihard:
            gap = (far - near).detach()
            counted = counted & (gap > 0) & (gap <= margin)
        if among is not None:
            far = torch.minimum(far, among[column[:, part]])
        hinge = near - far + margin
        counted = counted & (hinge > 0)
        total = total + hinge.masked_fill(~counted, 0.0).sum()
        count = count + counted.sum()
    return total / count.clamp(min=1)


def hardest(pairs: Pairings, margin: float, swap: bool) -> Tensor:
    """Return the mean positive hinge of each anchor's farthest positive and nearest negative, if it has both."""
    worst = pairs.distance.detach().masked_fill(~pairs.positive, -torch.inf).argmax(1)
    rival = pairs.distance.detach().masked_fill(~pairs.negative, torch.inf).argmin(1)
    there = pairs.positive.any(1) & pairs.negative.any(1)
    return _chosen(pairs, worst[:, None], rival[:, None], there[:, None], margin, swap)


def distance_weighted(pairs: Pairings, margin: float, swap: bool) -> Tensor:
    """Return the mean of the positive hinges of drawn triplets: as many for each anchor as its class has images.

    Draws from torch's global generator (Wu et al. 2017, "Sampling Matters in Deep Embedding Learning").

    A positive is drawn evenly, a negative with weight 1 / q(d), q the density of distances between points spread evenly
    over the sphere, d at least :data:`CLOSEST`; from :data:`FARTHEST` on none is drawn.
    """
    column, none = pairs.listed
    weights = negative_weights(pairs)
    shape = len(column), column.shape[1] + int(pairs.others is pairs.rows)
    known = (~none).sum(1, keepdim=True)
    uniform = torch.rand(2, *shape, dtype=weights.dtype, device=weights.device)
    choice = torch.minimum((uniform[0] * known).long(), (known - 1).clamp(min=0))
    positive = column.gather(1, choice)
    running = weights.cumsum(1)
    negative = torch.searchsorted(running, uniform[1] * running[:, -1:], right=True).clamp(max=weights.shape[1] - 1)
    drawn = torch.arange(shape[1], device=weights.device) < known + int(pairs.others is pairs.rows)
    there = drawn & (known > 0) & (weights.gather(1, negative) > 0)
    return _chosen(pairs, positive, negative, there, margin, swap)


def negative_weights(pairs: Pairings) -> Tensor:
    """Return ``[Q, G]`` probability that each item is drawn as a negative, up to a factor for each row."""
    dim, distance = pairs.rows.shape[1], pairs.distance.detach()
    spread = distance.clamp(min=CLOSEST)
    log_weight = (2.0 - dim) * spread.log() - ((dim - 3) / 2) * (1.0 - 0.25 * spread.square()).log()
    allowed = pairs.negative & log_weight.isfinite() & (distance < FARTHEST)
    log_weight = log_weight.masked_fill(~allowed, -torch.inf)
    most = log_weight.amax(1, keepdim=True)
    return (log_weight - most.masked_fill(most == -torch.inf, 0.0)).exp()


def _chosen(pairs: Pairings, positive: Tensor, negative: Tensor, there: Tensor, margin: float, swap: bool) -> Tensor:
    """Return the mean of the positive hinges of the triplets (row, positive, negative) ``[Q, K]`` that are there."""
    near, far = pairs.distance.gather(1, positive), pairs.distance.gather(1, negative)
    if swap:
        far = torch.minimum(far, _among_others(pairs)[positive, negative])
    return active_mean(near - far + margin, there)


def _among_others(pairs: Pairings) -> Tensor:
    """Return the distances ``[G, G]`` between the items that queries are compared with."""
    return pairs.distance if pairs.others is pairs.rows else torch.cdist(pairs.others, pairs.others)


def _parts(pairs: Pairings) -> Iterator[slice]:
    """Yield slices of the listed positives, as many at once as may be held."""
    width = pairs.listed[0].shape[1]
    step = max(1, HELD // max(1, pairs.distance.numel()))
    yield from (slice(first, first + step) for first in range(0, width, step))
