"""Cross-batch memory: recent embeddings as a larger gallery for any loss that takes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from trainers.devices.host import columns, host, tensor
from trainers.errors import UserError
from trainers.losses._batch import unit
from trainers.losses.base import LossDescriptor, LossModule


class CrossBatchMemory(nn.Module):
    """A ring of the last ``size`` embeddings and labels: first in, first out. It is saved with the module's state.

    Embeddings are on the module's device; labels and the count of rows, which gives every place, stay on the CPU.

    Args:
        size: rows K kept.
        dim: embedding dimension D.
        levels: label columns L.
    """

    rows: Tensor
    labels: Tensor
    pushed: Tensor

    def __init__(self, *, size: int, dim: int, levels: int = 1) -> None:
        super().__init__()
        if size < 1:
            raise UserError(f"A cross-batch memory needs a size of at least 1; got {size}.")
        self.register_buffer("rows", torch.zeros(size, dim))
        self.register_buffer("labels", torch.full((size, levels), -1, dtype=torch.int64))
        self.register_buffer("pushed", torch.tensor(0))  # rows ever pushed

    @torch.no_grad()
    def push(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """Write a batch over the oldest rows, as unit rows without gradient.

        Args:
            embeddings: ``[B, D]`` or ``[B, V, D]`` raw.
            labels: ``[B]`` or ``[B, L]``.

        Returns:
            ``[B]`` or ``[B, V]`` int64 on the CPU, the row of :meth:`contents` that each embedding now is; -1 for those
            that a batch larger than the ring has no room for.

        Raises:
            UserError: labels of another number of levels than the memory's.
        """
        known = columns(labels)
        if known.shape[1] != self.labels.shape[1]:
            raise UserError(
                f"This cross-batch memory keeps labels of {self.labels.shape[1]} level(s); got {known.shape[1]}. "
                f"Build it with levels={known.shape[1]}."
            )
        shape = embeddings.shape[:-1]
        if embeddings.dim() == 3:
            known = known.repeat(embeddings.shape[1], axis=0)
            embeddings = embeddings.flatten(0, 1)
        size, batch, before = len(self.rows), len(embeddings), int(host(self.pushed))
        kept = min(size, batch)  # of a batch larger than the ring only the last rows would survive
        slots = (before + batch - kept + np.arange(kept)) % size
        until_end = min(kept, size - int(slots[0])) if kept else 0
        new = unit(embeddings[batch - kept :]).to(self.rows)
        for part, rows in ((slots[:until_end], new[:until_end]), (slots[until_end:], new[until_end:])):
            if len(part):  # slices, so that no index has to travel
                self.rows[int(part[0]) : int(part[-1]) + 1] = rows
        held = host(self.labels).copy()
        held[slots] = known[batch - kept :]
        self.labels, self.pushed = tensor(held), tensor(np.array(before + batch))
        return tensor(np.concatenate([np.full(batch - kept, -1), slots]).reshape(shape))

    def contents(self) -> tuple[Tensor, Tensor]:
        """Return rows ``[K', D]`` and labels ``[K', L]`` held now, copied: a later push leaves them as they are."""
        held = min(int(host(self.pushed)), len(self.rows))
        return self.rows[:held].clone(), tensor(host(self.labels)[:held])

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CrossBatchMemory:
        move: Callable[..., nn.Module] = super()._apply
        with _on_host(self, "labels", "pushed"):
            move(fn, recurse)
        return self


class WithMemory(LossModule):
    """A loss on the batch and the same loss on the batch against a cross-batch memory, averaged.

    The current batch is pushed first, so that each query finds a detached copy of itself and its classmates there. A
    loss that leaves a query out of its own candidates is told which row that copy is: it is known by its place, not by
    its similarity, so that another image that looks the same stays. One that counts the query as its own positive
    counts the copy too, as published (SupRank). A loss whose memory is a queue (``LossModule.queue``) is compared with
    the rows from before this batch, and then its last view is pushed.

    Args:
        loss: any loss that takes a gallery.
        memory: the ring.
        batch_factor: weight of the batch beside the memory's weight of 1.
        after: batches pushed before the memory counts.
    """

    def __init__(
        self, loss: LossModule, memory: CrossBatchMemory, *, batch_factor: float = 1.0, after: int = 0
    ) -> None:
        super().__init__()
        self.loss, self.memory, self.batch_factor, self.after = loss, memory, batch_factor, after
        self.register_buffer("batches", torch.tensor(0))

    batches: Tensor

    @property
    def proxies(self) -> Tensor:
        """The wrapped loss's proxies."""
        return self.loss.get_parameter("proxies")

    def terms(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return the loss's terms on the batch, and the same with ``memory_`` before their names.

        Raises:
            UserError: there is a gallery; the memory is the gallery.
        """
        if gallery is not None:
            raise UserError("A loss with a cross-batch memory takes no other gallery. Pass the batch alone.")
        rows, row_labels, itself = self._exchange(embeddings, labels)
        if int(host(self.batches)) <= self.after or len(rows) == 0:
            return self.loss.terms(embeddings, labels)
        total = self.batch_factor + 1
        terms = {}
        if self.batch_factor:
            inner = self.loss.terms(embeddings, labels)
            terms = {name: value * (self.batch_factor / total) for name, value in inner.items()}
        outer = self.loss.terms(embeddings, labels, rows.to(embeddings.device), row_labels, itself)
        return terms | {f"memory_{name}": value * (1 / total) for name, value in outer.items()}

    def _exchange(self, embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Push the batch, in training; rows and labels to compare with, and the rows that are the batch's own."""
        if not self.training:
            return *self.memory.contents(), None
        self.batches = tensor(host(self.batches) + 1)
        if self.loss.queue:
            before = self.memory.contents()
            self.memory.push(embeddings[:, -1], labels)
            return *before, None
        self_index = self.memory.push(embeddings, labels)
        return *self.memory.contents(), self_index

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> WithMemory:
        move: Callable[..., nn.Module] = super()._apply
        with _on_host(self, "batches"):
            move(fn, recurse)
        return self


@contextmanager
def _on_host(module: nn.Module, *names: str) -> Iterator[None]:
    """Keep the buffers of these names as they are while the module is moved."""
    kept = {name: module._buffers.pop(name) for name in names}
    try:
        yield
    finally:
        for name, buffer in kept.items():
            module._buffers[name] = buffer


def give_memory(
    loss: LossModule, descriptor: LossDescriptor, *, size: int, after: int, dim: int, levels: int
) -> tuple[LossModule, str]:
    """Wrap a loss in the cross-batch memory that a run asks for.

    Args:
        size: rows; 0: as many as the descriptor says, for most losses none.
        after: batches before the memory counts.
        dim, levels: of the embeddings and the labels.

    Returns:
        The loss, wrapped if it takes a memory, and a sentence for the log, possibly empty.
    """
    size = size or descriptor.memory
    if not size:
        return loss, ""
    if not descriptor.gallery:
        return loss, f"memory: {descriptor.title} takes no gallery, so it trains without"
    ring = CrossBatchMemory(size=size, dim=dim, levels=levels)
    wrapped = WithMemory(loss, ring, batch_factor=0.0 if loss.queue else 1.0, after=after)
    return wrapped, f"memory: {descriptor.title} keeps its last {size} embeddings and uses them after {after} steps"
