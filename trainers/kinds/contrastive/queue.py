"""The dictionary of MoCo as a queue (He et al. 2020, 3.2): keys of earlier batches, first in, first out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import send
from trainers.errors import UserError

NONE = -1
"""In :attr:`KeyQueue.rows`, ``labels`` and ``written``: of a random column, which no image has written."""


class KeyQueue(nn.Module):
    """Unit keys in the columns of one matrix, and what is known of each; all of it is part of a checkpoint.

    Args:
        dim: D, numbers in a key.
        size: K, number of keys; the batch need not divide it.

    Attributes:
        keys: floating ``[D, K]``; random unit columns until they are replaced.
        pointer: int64 scalar, the column that is written next.
        rows: int64 ``[K]``, training rows of the images behind the keys.
        labels: int64 ``[K]``, their classes.
        written: int64 ``[K]``, number of the batch that each key came with, from 0.
        batches: int64 scalar, how many batches have entered.
    """

    keys: Tensor
    pointer: Tensor
    rows: Tensor
    labels: Tensor
    written: Tensor
    batches: Tensor

    def __init__(self, dim: int, size: int) -> None:
        super().__init__()
        if dim < 1 or size < 1:
            raise UserError(f"A queue needs at least one key of at least one number; got {size} keys of {dim} numbers.")
        self.register_buffer("keys", functional.normalize(torch.randn(dim, size), dim=0))
        for name in ("rows", "labels", "written"):
            self.register_buffer(name, torch.full((size,), NONE, dtype=torch.int64))
        for name in ("pointer", "batches"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))
        self._column = self._entered = 0  # pointer and batches on the host, which then need not wait for the device
        self._columns, self._change = torch.empty(0), torch.empty(0)

    @property
    def size(self) -> int:
        """K."""
        return self.keys.shape[1]

    @property
    def filled(self) -> float:
        """Share of the columns that hold the key of an image, 0 to 1."""
        return float((self.written != NONE).float().mean())

    @property
    def ages(self) -> Tensor:
        """int64 ``[K]``: batches that have entered after each key's own; -1 for a random column."""
        return torch.where(self.written == NONE, NONE, self.batches - 1 - self.written)

    def sample(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Sample at most ``count`` keys of known images, evenly over their ages, youngest first.

        Returns:
            unit keys ``[n, D]``, training rows int64 ``[n]``, ages int64 ``[n]``.
        """
        ages = self.ages
        known = torch.nonzero(self.rows != NONE)[:, 0]
        known = known[ages[known].argsort(stable=True)]
        picked = known[spread(len(known), count).to(known.device)]
        return self.keys[:, picked].T, self.rows[picked], ages[picked]

    def beside(self, positives: Tensor, queries: Tensor) -> Tensor:
        """Put each query's own numbers beside its inner products with every key as it is now; keys get no gradient.

        No key is copied: if a batch has entered by the time of the backward pass, the gradient is corrected for the
        columns that it replaced.

        Args:
            positives: ``[P, N]``.
            queries: ``[N, D]``.

        Returns:
            ``[P * N, 1 + K]``, the own number first; the products stand in it P times.

        Raises:
            RuntimeError: in the backward pass, if more than one batch has entered.
        """
        return _Beside.apply(positives, queries, self)

    @torch.no_grad()
    def dequeue_and_enqueue(self, keys: Tensor, rows: Tensor | None = None, labels: Tensor | None = None) -> None:
        """Replace the oldest keys by a batch; of a batch larger than the queue the last keys stay.

        Args:
            keys: ``[N, D]``, unit rows.
            rows, labels: int64 ``[N]``, of their images where known.
        """
        stays = min(len(keys), self.size)
        first = self._column + len(keys) - stays
        columns = torch.arange(first, first + stays, device=self.keys.device) % self.size
        new = keys[len(keys) - stays :].T.to(self.keys.dtype)
        self._columns, self._change = columns, new - self.keys[:, columns]
        self.keys[:, columns] = new
        self.written[columns] = self._entered
        for known, values in ((self.rows, rows), (self.labels, labels)):
            known[columns] = NONE if values is None else send(values[len(keys) - stays :], known.device)
        self._column, self._entered = (self._column + len(keys)) % self.size, self._entered + 1
        self.pointer.fill_(self._column)
        self.batches.fill_(self._entered)

    def gradient(self, slopes: Tensor, entered: int) -> Tensor:
        """Multiply ``slopes [N, K]`` by the keys as they were when ``entered`` batches had entered, ``[N, D]``."""
        if self._entered - entered not in (0, 1):
            raise RuntimeError("at most one batch may enter a queue between the similarities and their gradient")
        whole = slopes @ self.keys.T.to(slopes.dtype)
        if self._entered == entered:
            return whole
        return whole - slopes[:, self._columns] @ self._change.T.to(slopes.dtype)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._column, self._entered = int(self.pointer), int(self.batches)


def spread(available: int, count: int) -> Tensor:
    """Choose at most ``count`` of so many indices, evenly spaced, int64, ascending."""
    return torch.linspace(0, max(available - 1, 0), min(available, count)).round().long()


class _Beside(torch.autograd.Function):
    """:meth:`KeyQueue.beside`; the products are written where they are needed, as each of their copies costs a pass."""

    @staticmethod
    def forward(ctx: Any, positives: Tensor, queries: Tensor, queue: KeyQueue) -> Tensor:
        ctx.queue, ctx.entered, ctx.positives = queue, queue._entered, len(positives)
        logits = queries.new_empty(positives.numel(), 1 + queue.size)
        parts = logits.view(*positives.shape, -1)
        parts[..., 0] = positives
        torch.mm(queries, queue.keys.to(queries.dtype), out=parts[0, :, 1:])
        parts[1:, :, 1:] = parts[0, :, 1:]
        return logits

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:
        parts = slopes[0].unflatten(0, (ctx.positives, -1))
        others = parts[0] if len(parts) == 1 else parts.sum(0)
        return parts[..., 0], ctx.queue.gradient(others[:, 1:], ctx.entered), None
