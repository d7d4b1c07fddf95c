"""Shuffling of keys against the leak through batch statistics (He et al. 2020, 3.3), within and across processes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.distributed.group import rank, world
from trainers.distributed.whole import joined

Encode = Callable[[Tensor], Tensor]


def shuffled(encode: Encode, images: Tensor) -> Tensor:
    """Call ``encode(images)`` with the images in another order, and return the result in theirs.

    Batch statistics over groups of images (:class:`trainers.kinds.contrastive.norms.SplitBatchNorm`) then come from
    other groups than the queries', so that a query cannot recognise its key by them. Across processes, all of which
    must call this with equally many images, groups are mixed over all of them.

    Args:
        encode: from the ``[n, ...]`` of this process to the ``[N, D]`` of all, in the order of one.
        images: ``[n, ...]`` of this process. The order is drawn from torch's global generator, which must stand alike
            in all processes.
    """
    processes = world()
    order = send(torch.randperm(processes * len(images)), images.device)
    every = joined(images, len(order))
    return encode(every[order[rank() :: processes]])[order.argsort()]
