"""The input of pair losses: check shapes, convert half precision, normalise, multiply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import columns, host, send, tensor
from trainers.errors import UserError
from trainers.losses.base import LossModule


@dataclass(frozen=True, kw_only=True)
class PairBatch:
    """Queries against a gallery.

    Attributes:
        queries: ``[B, D]`` unit rows, float32 or float64.
        similarity: ``[B, G]`` cosines, same dtype.
        labels: ``[B, L]`` int64, finest level first; on the CPU, wherever the similarities are, as the next two.
        gallery_labels: ``[G, L]`` int64.
        itself: ``[B]`` int64, the gallery item that is the query itself, -1 where none is; None: none is anywhere.
        alone: the batch is its own gallery.
    """

    queries: Tensor
    similarity: Tensor
    labels: Tensor
    gallery_labels: Tensor
    itself: Tensor | None
    alone: bool = True


class SimilarityLoss(LossModule):
    """A loss of the cosines between a batch and its gallery. A subclass writes :meth:`parts`.

    Attributes:
        finest: it reads the finest label level only.
    """

    finest = True

    def parts(self, batch: PairBatch) -> dict[str, Tensor]:
        """Return named, already weighted parts of the loss, each a scalar."""
        raise NotImplementedError

    def terms(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """See :meth:`LossModule.terms` and :meth:`LossModule.forward`."""
        return self.parts(
            pair_batch(embeddings, labels, gallery, gallery_labels, finest=self.finest, self_index=self_index)
        )


def unit(embeddings: Tensor) -> Tensor:
    """Scale rows to length one; half precision is converted to float32 first: cosines that are 5e-4 apart there would
    tie falsely at a temperature of 0.01.
    """
    if embeddings.dtype in (torch.float16, torch.bfloat16):
        embeddings = embeddings.float()
    return functional.normalize(embeddings, dim=-1, eps=1e-12)


def pair_batch(
    embeddings: Tensor,
    labels: Tensor,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    *,
    finest: bool = False,
    self_index: Tensor | None = None,
) -> PairBatch:
    """Normalise both sides once and form every cosine.

    Args:
        embeddings: ``[B, D]`` raw.
        labels: ``[B]`` or ``[B, L]`` integers; best on the CPU, since those on a GPU have to be copied first.
        gallery: ``[G, D]`` raw; None: the batch itself.
        gallery_labels: ``[G]`` or ``[G, L]``.
        finest: keep the finest label column alone (losses that know only same or different).
        self_index: see :meth:`trainers.losses.base.LossModule.forward`; without a gallery each query is the item of its
            number.

    Raises:
        UserError: shapes do not fit together.
    """
    rows = _labels(embeddings, labels, "batch")
    queries = unit(embeddings)
    if gallery is None:
        others, columns = queries, rows
    else:
        if gallery_labels is None:
            raise UserError("A gallery needs gallery_labels, one row per gallery embedding; got none.")
        columns = _labels(gallery, gallery_labels, "gallery")
        others = unit(gallery).to(queries.dtype)
    if columns.shape[1] != rows.shape[1]:
        raise UserError(
            f"Batch labels have {rows.shape[1]} level(s) and gallery labels {columns.shape[1]}; give both the same."
        )
    if finest:
        rows, columns = rows[:, :1], columns[:, :1]
    self_index = tensor(np.arange(len(queries))) if gallery is None else self_index
    return PairBatch(
        queries=queries,
        similarity=queries @ others.T,
        labels=tensor(rows),
        gallery_labels=tensor(columns),
        itself=None if self_index is None else tensor(host(self_index)),
        alone=gallery is None,
    )


def without_self(pairs: Tensor, itself: Tensor | None) -> Tensor:
    """Take the pairs of a query with itself out of ``pairs [B, G]``, bool, and return them.

    Args:
        pairs: changed in place.
        itself: as in :class:`PairBatch`.
    """
    if itself is not None:
        column = host(itself)
        queries = np.flatnonzero(column >= 0)
        row, column = send(np.stack([queries, column[queries]]), pairs.device)
        pairs[row, column] = pairs.new_zeros(())
    return pairs


def _labels(embeddings: Tensor, labels: Tensor, what: str) -> np.ndarray:
    if embeddings.ndim != 2:
        raise UserError(f"The {what} needs embeddings of shape [items, dimension]; got {tuple(embeddings.shape)}.")
    if labels.ndim not in (1, 2) or len(labels) != len(embeddings) or labels.is_floating_point():
        raise UserError(
            f"The {what} needs whole-number labels [{len(embeddings)}] or [{len(embeddings)}, levels]; "
            f"got {tuple(labels.shape)} of {labels.dtype}."
        )
    return columns(labels)


def query_rows(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return unit rows ``[B, D]`` and finest labels ``[B]``, on the CPU, for losses that compare with proxies alone.

    Raises:
        UserError: shapes do not fit together.
    """
    return unit(embeddings), tensor(_labels(embeddings, labels, "batch")[:, 0])
