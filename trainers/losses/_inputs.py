"""The input of losses: unit rows, flat labels, views below one another; and the checks of batches."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from trainers.devices.host import finest, host, tensor
from trainers.errors import UserError
from trainers.losses._batch import unit
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
