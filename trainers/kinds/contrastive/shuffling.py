"""Shuffling of keys against the leak through batch statistics (He et al. 2020, 3.3), within and across processes."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.devices.host import send

Encode = Callable[[Tensor], Tensor]


def shuffled(encode: Encode, images: Tensor) -> Tensor:
    """Call ``encode(images)`` with the images in another order, and return the result in theirs.

    Batch statistics over groups of images (:class:`trainers.kinds.contrastive.norms.SplitBatchNorm`, or one group per
    process) then come from other groups than the queries', so that a query cannot recognise its key by them. Across
    processes, all of which must call this with equally many images, groups are mixed over all of them.

    Args:
        encode: from ``[N, ...]`` to ``[N, D]``.
        images: ``[N, ...]`` of this process. The order is drawn from torch's global generator; with several
            processes the first one's draw counts.
    """
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        order = send(torch.randperm(len(images)), images.device)
        return encode(images[order])[order.argsort()]
    world, own = dist.get_world_size(), dist.get_rank()
    order = send(torch.randperm(world * len(images)), images.device)
    dist.broadcast(order, src=0)
    mine = order.reshape(world, -1)[own]
    everyone = _gathered(encode(_gathered(images)[mine]))
    return everyone[order.argsort().reshape(world, -1)[own]]


def _gathered(part: Tensor) -> Tensor:
    """Gather the parts of all processes, one after the other."""
    parts = [torch.empty_like(part, memory_format=torch.contiguous_format) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part.contiguous())
    return torch.cat(parts)
