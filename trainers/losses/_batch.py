"""The input of losses: checked, as unit rows, with similarities, positives and negatives of each query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import columns, equal, finest, host, send, tensor
from trainers.errors import UserError
from trainers.losses.base import LossModule


def flatten_views(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Lay the views of each image below one another, first all first views, then all second ones.

    Args:
        embeddings: ``[B, V, D]``, or ``[B, D]`` for one view.
        labels: ``[B]`` or ``[B, L]``.

    Returns:
        ``[V * B, D]`` unit rows, and on the CPU their finest labels ``[V * B]`` and the image each comes from
        ``[V * B]``.

    Raises:
        UserError: shapes do not fit together.
    """
    if embeddings.dim() == 2:
        embeddings = embeddings[:, None]
    if embeddings.dim() != 3 or labels.dim() not in (1, 2) or len(labels) != len(embeddings):
        raise UserError(
            f"A loss needs embeddings [B, D] or [B, views, D] and as many label rows; "
            f"got {list(embeddings.shape)} and {list(labels.shape)}."
        )
    batch, views, dim = embeddings.shape
    rows = unit(embeddings).transpose(0, 1).reshape(views * batch, dim)
    return rows, tensor(np.tile(host(finest(labels)), views)), tensor(np.tile(np.arange(batch), views))


def one_view(embeddings: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return unit rows and finest labels; several views count as so many images of their class."""
    rows, row_labels, _ = flatten_views(embeddings, labels)
    return rows, row_labels


def flatten_self_index(self_index: Tensor | None) -> Tensor | None:
    """Put ``self_index`` of :meth:`LossModule.forward` in the order of :func:`flatten_views`, on the CPU."""
    return None if self_index is None else tensor(host(self_index).T.reshape(-1))


def contrast_set(gallery: Tensor, gallery_labels: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return unit rows and finest labels, on the CPU, of a separate gallery.

    Raises:
        UserError: the gallery has no labels.
    """
    if gallery_labels is None:
        raise UserError(f"A gallery needs its labels; got {len(gallery)} embeddings without. Pass gallery_labels.")
    return unit(gallery), finest(gallery_labels)


def compared(
    rows: Tensor, labels: Tensor, gallery: Tensor | None, gallery_labels: Tensor | None, self_index: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return what rows ``[Q, D]`` are compared with: unit rows ``[G, D]``, their finest labels, and where each query is
    among them (int64 ``[Q]``, -1 for nowhere; None: nowhere), the last two on the CPU.

    Args:
        rows, labels: of the batch, as :func:`flatten_views` lays them.
        gallery, gallery_labels, self_index: as for :meth:`trainers.losses.base.LossModule.forward`.
    """
    if gallery is None:
        return rows, labels, tensor(np.arange(len(rows)))
    return *contrast_set(gallery, gallery_labels), flatten_self_index(self_index)


class BatchLoss(LossModule):
    """A loss of the images of one batch at their finest labels, without a gallery. A subclass writes :meth:`parts`.

    Attributes:
        title: for messages.
    """

    title: str

    def parts(self, rows: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return named, already weighted parts of the loss, each a scalar, as of :func:`one_view`'s rows and labels.

        Raises:
            UserError: the batch does not suit the loss.
        """
        raise NotImplementedError

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """See :meth:`LossModule.terms`.

        Raises:
            UserError: there is a gallery, or as :meth:`parts`.
        """
        refuse_gallery(self.title, gallery)
        return self.parts(*one_view(embeddings, labels))


def refuse_gallery(title: str, gallery: Tensor | None) -> None:
    """Refuse a gallery for a loss that cannot use one.

    Raises:
        UserError: there is a gallery.
    """
    if gallery is not None:
        raise UserError(
            f"{title} compares the images of one batch and takes no gallery. Leave the memory out, or use SupCon."
        )


def count_positives(
    labels: Tensor, gallery_labels: Tensor | None = None, self_index: Tensor | None = None
) -> np.ndarray:
    """Return how many positives each image has, ``[N]`` int64, itself left out: in the batch, or in a gallery.

    Args:
        labels: ``[N]``.
        gallery_labels: ``[G]``; None: the batch's.
        self_index: ``[N]`` gallery row of each image's copy, -1 where none is; None: none is anywhere.
    """
    rows = host(labels)
    others = np.sort(rows if gallery_labels is None else host(gallery_labels))
    positives = np.searchsorted(others, rows, side="right") - np.searchsorted(others, rows)
    if gallery_labels is None:
        return positives - 1
    return positives if self_index is None else positives - (host(self_index) >= 0)


def count_classes(*labels: Tensor) -> int:
    """Count the different labels among all of these."""
    return len(np.unique(np.concatenate([host(some) for some in labels])))


def need_positives(
    title: str, labels: Tensor, gallery_labels: Tensor | None = None, self_index: Tensor | None = None
) -> None:
    """Refuse a batch without a positive pair, for which the loss would be zero.

    Raises:
        UserError: no two images share a class.
    """
    if not (count_positives(labels, gallery_labels, self_index) > 0).any():
        raise UserError(
            f"{title} needs two images of at least one class in a batch; this one holds {len(labels)} images of "
            f"{count_classes(labels)} classes. Use the m-per-class sampler with two or more images per class."
        )


def need_negatives(title: str, labels: Tensor, gallery_labels: Tensor | None = None) -> None:
    """Refuse a batch without a negative pair.

    Raises:
        UserError: all images are of one class.
    """
    if count_classes(labels, *(() if gallery_labels is None else (gallery_labels,))) < 2:
        raise UserError(
            f"{title} needs images of two classes or more in a batch; all {len(labels)} are of one class. "
            f"Use the m-per-class sampler with two or more classes per batch."
        )


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


@dataclass(frozen=True, kw_only=True)
class Pairings:
    """Queries against the batch or a gallery. All shapes follow from the labels, which are on the host.

    Attributes:
        rows: ``[Q, D]`` unit; others: ``[G, D]`` unit, of the same type.
        labels: int64 ``[Q]``; other_labels: ``[G]``; on the CPU.
        itself: int64 ``[Q]``, on the CPU: where each query is among the others, -1 for nowhere; None: nowhere.
        positive, negative: bool ``[Q, G]`` on the device; a query is neither of itself.
    """

    rows: Tensor
    others: Tensor
    labels: Tensor
    other_labels: Tensor
    itself: Tensor | None
    positive: Tensor
    negative: Tensor

    @classmethod
    def of(
        cls,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> Pairings:
        """Make them from what a loss is given.

        Args:
            embeddings, labels, gallery, gallery_labels, self_index: as for
                :meth:`trainers.losses.base.LossModule.forward`.
        """
        rows, row_labels = one_view(embeddings, labels)
        others, other_labels, itself = compared(rows, row_labels, gallery, gallery_labels, self_index)
        same = equal(row_labels, other_labels, rows.device)
        return cls(
            rows=rows,
            others=others.to(rows.dtype),
            labels=row_labels,
            other_labels=other_labels,
            itself=itself,
            negative=~same,
            positive=without_self(same, itself),
        )

    @cached_property
    def distance(self) -> Tensor:
        """Euclidean distances ``[Q, G]``."""
        return torch.cdist(self.rows, self.others)

    @cached_property
    def listed(self) -> tuple[Tensor, Tensor]:
        """Each query's positives as columns ``[Q, P]``, int64, filled up with column 0, and which are none, bool."""
        labels, others = host(self.labels), host(self.other_labels)
        order = np.argsort(others, kind="stable")
        first, last = (np.searchsorted(others[order], labels, side=side) for side in ("left", "right"))
        position = first[:, None] + np.arange(max(int((last - first).max()), 1))
        inside = position < last[:, None]
        column = order[np.where(inside, position, 0)]
        if self.itself is not None:
            inside &= column != host(self.itself)[:, None]
        # Positives to the front, so that the first numbers count them.
        turn = np.argsort(~inside, axis=1, kind="stable")
        inside = np.take_along_axis(inside, turn, 1)
        column = np.take_along_axis(column, turn, 1)
        width = max(inside.sum(1).max(), 1)
        positives = send(np.where(inside, column, 0)[:, :width], self.rows.device)
        return positives, send((~inside[:, :width]).astype(np.int64), self.rows.device).bool()


class PairLoss(LossModule):
    """A loss of the pairs of a batch, or of a batch and a gallery. A subclass writes :meth:`parts`.

    Attributes:
        title: for messages.
        needs_positives, needs_negatives: a batch without a pair of the kind is refused.
        takes_gallery: whether a gallery is not refused.
    """

    leaves_self_out = True
    title: str
    needs_positives = True
    needs_negatives = False
    takes_gallery = True

    def parts(self, pairs: Pairings) -> dict[str, Tensor]:
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
        """See :meth:`LossModule.terms` and :meth:`LossModule.forward`.

        Raises:
            UserError: the batch has no pair of a kind that is needed, or there is a gallery and none is taken.
        """
        if not self.takes_gallery:
            refuse_gallery(self.title, gallery)
        pairs = Pairings.of(embeddings, labels, gallery, gallery_labels, self_index)
        if self.needs_positives:
            need_positives(self.title, pairs.labels, pairs.other_labels, pairs.itself)
        if self.needs_negatives:
            need_negatives(self.title, pairs.labels, pairs.other_labels)
        return self.parts(pairs)


def active_mean(hinge: Tensor, pairs: Tensor) -> Tensor:
    """Return the mean of the strictly positive hinges among ``pairs``; 0 when there is none."""
    active = pairs & (hinge > 0)
    return hinge.masked_fill(~active, 0.0).sum() / active.sum().clamp(min=1)
