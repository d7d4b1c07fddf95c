"""The loss of a large batch that several processes share: each computes that of its own queries against all images.

Below :data:`LARGEST` images every process computes the whole loss. Its cost grows with the square of the batch and not
with the processes, so above it each takes its own rows as queries and all rows as the gallery; gradients are added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.distributed.group import rank, world
from trainers.errors import UserError
from trainers.losses import LossDescriptor, LossModule
from trainers.losses._memory import WithMemory

LARGEST = 8192
"""Images of a batch, views counted once, of which every process computes the whole loss."""


Terms = Callable[..., dict[str, Tensor]]
"""As :meth:`trainers.losses.LossModule.terms`."""


def shared_terms(net: LossModule, entry: LossDescriptor) -> Terms:
    """Return what computes the terms of a loss; of several processes each computes its part of batches that are larger
    than :data:`LARGEST`.

    A call for such a batch raises UserError for a loss whose parts do not add up, and for one with a memory.
    """
    return _SharedTerms(net, entry) if world() > 1 else net.terms


def part(terms: Terms, embeddings: Tensor, labels: Tensor, first: int, of: int) -> dict[str, Tensor]:
    """Return the terms of the queries ``first``, ``first + of``, ... against the whole batch, divided by ``of``.

    Args:
        embeddings, labels: of the whole batch, as for :meth:`trainers.losses.LossModule.terms`.
    """
    views = embeddings.shape[1] if embeddings.ndim == 3 else 1
    rows = torch.arange(len(embeddings) * views, device=embeddings.device).reshape(embeddings.shape[:-1])
    gallery, beside = embeddings.flatten(0, -2), labels.repeat_interleave(views, dim=0)
    losses = terms(embeddings[first::of], labels[first::of], gallery, beside, rows[first::of])
    return {name: term / of for name, term in losses.items()}


class _SharedTerms:
    """The terms of a loss over a batch that several processes share."""

    def __init__(self, net: LossModule, entry: LossDescriptor) -> None:
        self._net, self._entry, self._hooked = net, entry, False

    def __call__(self, embeddings: Tensor, labels: Tensor, *more: Any, **known: Any) -> dict[str, Tensor]:
        if len(embeddings) <= LARGEST:
            return self._net.terms(embeddings, labels, *more, **known)
        self._check(len(embeddings))
        if not self._hooked:  # of its weights the mean over the processes is taken, as if each had the whole gradient
            self._hooked = True
            for weight in self._net.parameters():
                weight.register_hook(lambda gradient: gradient * world())
        whole: Tensor = _Added.apply(embeddings)
        losses = part(self._net.terms, whole, labels, rank(), world())
        return {name: _of_all(term) for name, term in losses.items()}

    def _check(self, images: int) -> None:
        remembers = isinstance(self._net, WithMemory)
        if not remembers and self._entry.adds_up(self._net.settings):
            return
        title = f"{self._entry.title}{' with a cross-batch memory' if remembers else ''}"
        raise UserError(
            f"{title} of a batch of {images:,} images cannot be shared by processes: its parts do not add up to the "
            f"whole. Use batches of at most {LARGEST:,} images, which every process compares whole, or one process."
        )


class _Added(torch.autograd.Function):
    """The same rows in every process; of each the gradients of all processes are added."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        """Return the rows."""
        return rows.view_as(rows)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return the sum over the processes."""
        total = grads[0].clone()
        dist.all_reduce(total)
        return total


def _of_all(term: Tensor) -> Tensor:
    """Return the sum of a term over the processes, with the gradient of this one's."""
    total = term.detach().clone()
    dist.all_reduce(total)
    return term + (total - term.detach())
