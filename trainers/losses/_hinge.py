"""Two hinges that hold positive pairs above one similarity and negative pairs below another."""

from __future__ import annotations

from torch import Tensor

from trainers.losses._batch import PairBatch, without_self
from trainers.training.host import equal

MEAN_OVER = ("active", "all")
MEAN_OVER_HELP = "active divides by the pairs still inside a hinge (as trained), all by every pair (as printed)."


def calibration(batch: PairBatch, pos_margin: float, neg_margin: float, mean_over: str = "active") -> Tensor:
    """Mean of [pos_margin - s]_+ over positive pairs plus mean of [s - neg_margin]_+ over negative ones.

    Ramzi et al. 2023, Eq. 7. Ordered pairs; an item is no pair with itself, nor with its copy in a memory.

    Args:
        batch: queries against the gallery; the finest labels decide.
        pos_margin: positives below it are pulled together.
        neg_margin: negatives above it are pushed apart.
        mean_over: ``active``: divide by the pairs that the hinge touches (how the published numbers were trained);
            ``all``: by every pair of the kind, as the paper prints it. The counts carry no gradient.

    Returns:
        A scalar; a kind without (active) pairs adds zero, with zero gradient.
    """
    similarity = batch.similarity
    same = equal(batch.labels, batch.gallery_labels, similarity.device)
    other = ~same
    same = without_self(same, batch.itself)
    # The positives are few: picked out on a CPU; on a GPU, where that would be waited for, the others cost nothing.
    near = similarity[same] if similarity.device.type == "cpu" else similarity.masked_fill(~same, pos_margin)
    pull = (pos_margin - near).clamp(min=0)
    push = (similarity - neg_margin).clamp(min=0) * other
    pairs = ((pull > 0), (push > 0)) if mean_over == "active" else (same, other)
    return pull.sum() / pairs[0].sum().clamp(min=1) + push.sum() / pairs[1].sum().clamp(min=1)
