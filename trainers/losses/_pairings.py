"""The positives and negatives of each query, and means over those of them that still cost something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import equal, host, send
from trainers.losses._batch import without_self
from trainers.losses._inputs import compared, need_negatives, need_positives, one_view, refuse_gallery
from trainers.losses.base import LossModule


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
