"""Rows of a batch that are spread over the processes, gathered; and the gradients that follow from them, added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainers.distributed.group import rank, world


class Whole(torch.autograd.Function):
    """Gathers rows; of the gradient each process keeps those of its own rows, for each has the whole loss."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        """Return ``[W * b, ...]`` from ``[b, ...]``: row n is of process n mod W."""
        return _interleaved(part)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return the rows of this process."""
        return grads[0][rank() :: world()].contiguous()


def whole(part: Tensor) -> Tensor:
    """Return the rows of all processes in the order of one: row n is of process n mod W. Each gives equally many.

    A gradient of a loss that every process computes alike comes back through it.
    """
    every: Tensor = part if world() == 1 else Whole.apply(part)
    return every


def spread(images: Tensor) -> Tensor:
    """Return this process's rows of images that are evaluated: n with n mod W = rank, the last ones again if they are
    too few; :func:`joined` puts the results together.
    """
    processes = world()
    if processes == 1:
        return images
    missing = -len(images) % processes
    rows = torch.arange(len(images) + missing).clamp_(max=len(images) - 1)[rank() :: processes]
    return images[rows.to(images.device)]


def joined(part: Tensor, count: int) -> Tensor:
    """Return the results of ``count`` rows from those of :func:`spread`."""
    return part if world() == 1 else _interleaved(part)[:count]


def add_gradients(summed: Iterable[nn.Parameter], equal: Iterable[nn.Parameter] = ()) -> None:
    """Add the gradients of all processes, in one message for each type of number.

    Args:
        summed: weights whose gradient in each process follows from its own rows.
        equal: weights whose whole gradient every process has, such as proxies; its mean is taken, lest they drift.
    """
    if world() == 1:
        return
    parts: dict[torch.dtype, list[Tensor]] = {}
    for weights, factor in ((summed, 1.0), (equal, 1 / world())):
        for weight in weights:
            if weight.grad is not None:
                if factor != 1:
                    weight.grad.mul_(factor)
                parts.setdefault(weight.grad.dtype, []).append(weight.grad)
    for grads in parts.values():
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        dist.all_reduce(flat)
        for grad, total in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(total.view(grad.shape))


def gathered(part: Tensor) -> Tensor:
    """Return ``[W, b, ...]`` from the ``[b, ...]`` of every process."""
    out = part.new_empty(world() * len(part), *part.shape[1:])
    dist.all_gather_into_tensor(out, part.contiguous())
    return out.unflatten(0, (world(), -1))


def _interleaved(part: Tensor) -> Tensor:
    return gathered(part).transpose(0, 1).flatten(0, 1)
