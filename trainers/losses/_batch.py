"""The input of losses: checked, as unit rows, with similarities, positives and negatives of each query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import columns, equal, host, send, tensor
from trainers.errors import UserError


def unit(embeddings: Tensor) -> Tensor:
    """Scale rows to length one; half precision is converted to float32 first: cosines that are 5e-4 apart there would
    tie falsely at a temperature of 0.01.
    """
    if embeddings.dtype in (torch.float16, torch.bfloat16):
        embeddings = embeddings.float()
    return functional.normalize(embeddings, dim=-1, eps=1e-12)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Queries against the batch itself or a gallery. Labels, and all shapes that follow from them, are on the host.

    Attributes:
        rows: ``[Q, D]`` unit rows, float32 or float64; first all first views, then all second ones.
        others: ``[G, D]`` unit, of the same type: the gallery; the same tensor as ``rows``: the batch is its own.
        labels: ``[Q, L]`` int64, finest level first; on the CPU, wherever the rows are, as the next two.
        other_labels: ``[G, L]`` int64.
        itself: ``[Q]`` int64, where each query is among the others, -1 for nowhere; None: nowhere.
        views: views of each image.
    """

    rows: Tensor
    others: Tensor
    labels: Tensor
    other_labels: Tensor
    itself: Tensor | None
    views: int = 1

    @classmethod
    def of(
        cls,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
        *,
        finest: bool = False,
        views: bool = True,
    ) -> Batch:
        """Make it from what a loss is given.

        Args:
            embeddings, labels, gallery, gallery_labels, self_index: as for
                :meth:`trainers.losses.base.LossModule.forward`; labels best on the CPU, since those on a GPU have to be
                copied first.
            finest: keep the finest label column alone (losses that know only same or different).
            views: there may be several views of each image, which count as so many images of its class.

        Raises:
            UserError: shapes do not fit together.
        """
        table = _labels(embeddings, labels, "batch", views)
        count = embeddings.shape[1] if embeddings.ndim == 3 else 1
        if views:  # one node of the graph for all that the loss does with the embeddings
            rows = unit(embeddings if embeddings.ndim == 3 else embeddings[:, None]).transpose(0, 1).flatten(0, 1)
            table = np.tile(table, (count, 1))
        else:
            rows = unit(embeddings)
        others, beside, itself = rows, table, None if self_index is None else host(self_index).T.reshape(-1)
        if gallery is None:
            itself = np.arange(len(rows))
        elif gallery_labels is None:
            raise UserError("A gallery needs gallery_labels, one row per gallery embedding; got none.")
        else:
            others, beside = unit(gallery).to(rows.dtype), _labels(gallery, gallery_labels, "gallery", False)
        if beside.shape[1] != table.shape[1]:
            raise UserError(
                f"Batch labels have {table.shape[1]} level(s) and gallery labels {beside.shape[1]}; give both the same."
            )
        if finest:
            table, beside = table[:, :1], beside[:, :1]
        return cls(
            rows=rows,
            others=others,
            labels=tensor(table),
            other_labels=tensor(beside),
            itself=None if itself is None else tensor(itself),
            views=count,
        )

    @property
    def alone(self) -> bool:
        """The batch is its own gallery."""
        return self.others is self.rows

    @cached_property
    def similarity(self) -> Tensor:
        """Cosines ``[Q, G]``."""
        return self.rows @ self.others.T

    @cached_property
    def distance(self) -> Tensor:
        """Euclidean distances ``[Q, G]``."""
        return torch.cdist(self.rows, self.others)

    @property
    def positive(self) -> Tensor:
        """Pairs of the finest class, bool ``[Q, G]`` on the device; a query is no positive of itself."""
        return self._pairs[0]

    @property
    def negative(self) -> Tensor:
        """Pairs of different finest classes, bool ``[Q, G]`` on the device."""
        return self._pairs[1]

    @cached_property
    def _pairs(self) -> tuple[Tensor, Tensor]:
        same = equal(self.labels, self.other_labels, self.rows.device)
        other = ~same
        if self.itself is not None:
            column = host(self.itself)
            queries = np.flatnonzero(column >= 0)
            row, column = send(np.stack([queries, column[queries]]), same.device)
            same[row, column] = same.new_zeros(())
        return same, other

    @cached_property
    def counts(self) -> np.ndarray:
        """How many positives each query has, ``[Q]`` int64."""
        labels, others = host(self.labels)[:, 0], np.sort(host(self.other_labels)[:, 0])
        positives = np.searchsorted(others, labels, side="right") - np.searchsorted(others, labels)
        return positives if self.itself is None else positives - (host(self.itself) >= 0)

    @cached_property
    def listed(self) -> tuple[Tensor, Tensor]:
        """Each query's positives as columns ``[Q, P]``, int64, filled up with column 0, and which are none, bool."""
        labels, others = host(self.labels)[:, 0], host(self.other_labels)[:, 0]
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

    def need_positives(self, title: str) -> None:
        """Refuse a batch without a positive pair, for which the loss would be zero.

        Raises:
            UserError: no two images share a class.
        """
        if not (self.counts > 0).any():
            raise UserError(
                f"{title} needs two images of at least one class in a batch; this one holds {len(self.labels)} images "
                f"of {count_classes(self.labels)} classes. Use the m-per-class sampler with two or more images per "
                f"class."
            )

    def need_negatives(self, title: str) -> None:
        """Refuse a batch without a negative pair.

        Raises:
            UserError: all images are of one class.
        """
        if count_classes(self.labels, self.other_labels) < 2:
            raise UserError(
                f"{title} needs images of two classes or more in a batch; all {len(self.labels)} are of one class. "
                f"Use the m-per-class sampler with two or more classes per batch."
            )


def _labels(embeddings: Tensor, labels: Tensor, what: str, views: bool) -> np.ndarray:
    if embeddings.ndim != 2 and not (views and embeddings.ndim == 3):
        shape = "[items, dimension] or [items, views, dimension]" if views else "[items, dimension]"
        raise UserError(f"The {what} needs embeddings of shape {shape}; got {tuple(embeddings.shape)}.")
    if labels.ndim not in (1, 2) or len(labels) != len(embeddings) or labels.is_floating_point():
        raise UserError(
            f"The {what} needs whole-number labels [{len(embeddings)}] or [{len(embeddings)}, levels]; "
            f"got {tuple(labels.shape)} of {labels.dtype}."
        )
    return columns(labels)


def count_classes(*labels: Tensor) -> int:
    """Count the different finest labels among all of these, ``[N]`` or ``[N, L]``."""
    return len(np.unique(np.concatenate([columns(some)[:, 0] for some in labels])))


def active_mean(hinge: Tensor, pairs: Tensor) -> Tensor:
    """Return the mean of the strictly positive hinges among ``pairs``; 0 when there is none."""
    active = pairs & (hinge > 0)
    return hinge.masked_fill(~active, 0.0).sum() / active.sum().clamp(min=1)
