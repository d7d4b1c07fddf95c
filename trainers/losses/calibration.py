"""The calibration loss: one similarity scale for every query, so that batch ranks add up to ranks of the whole set."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._batch import Batch
from trainers.losses._symbols import HINGE
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

MEAN_OVER = ("active", "all")
MEAN_OVER_HELP = "active divides by the pairs still inside a hinge (as trained), all by every pair (as printed)."


@dataclass(frozen=True, kw_only=True)
class CalibrationParameters:
    """Parameters of the calibration loss."""

    pos_margin: float = parameter(0.9, low=-1.0, high=1.0, help="Same-class pairs below this cosine are pulled.")
    neg_margin: float = parameter(0.6, low=-1.0, high=1.0, help="Other pairs above this cosine are pushed.")
    mean_over: str = parameter("active", choices=MEAN_OVER, help=MEAN_OVER_HELP)


class Calibration(LossModule):
    """Ramzi et al., "Optimization of Rank Losses for Image Retrieval", 2023, Eq. 7; first in ROADMAP, NeurIPS 2021."""

    takes_views = False

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return one part, ``calibration``: see :func:`calibration`."""
        given = self.settings
        return {"calibration": calibration(batch, given.pos_margin, given.neg_margin, given.mean_over)}


def calibration(batch: Batch, pos_margin: float, neg_margin: float, mean_over: str = "active") -> Tensor:
    """Return the mean of [pos_margin - s]_+ over positive pairs plus mean of [s - neg_margin]_+ over negative ones.

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
    similarity, same, other = batch.similarity, batch.positive, batch.negative
    # The positives are few: picked out on a CPU; on a GPU, where that would be waited for, the others cost nothing.
    near = similarity[same] if similarity.device.type == "cpu" else similarity.masked_fill(~same, pos_margin)
    pull = (pos_margin - near).clamp(min=0)
    push = (similarity - neg_margin).clamp(min=0) * other
    pairs = ((pull > 0), (push > 0)) if mean_over == "active" else (same, other)
    return pull.sum() / pairs[0].sum().clamp(min=1) + push.sum() / pairs[1].sum().clamp(min=1)


DESCRIPTOR = LossDescriptor(
    name="calibration",
    title="Calibration (pairs)",
    family="Decomposability",
    paper="Robust and Decomposable Average Precision for Image Retrieval, Ramzi et al., NeurIPS",
    year=2021,
    url="https://arxiv.org/abs/2110.01445",
    equation=(
        r"\mathcal{L} = \frac{1}{|\mathcal{A}^+|}\sum_{\text{pos}}[\alpha-s]_+"
        r"+\frac{1}{|\mathcal{A}^-|}\sum_{\text{neg}}[s-\beta]_+"
    ),
    symbols=HINGE
    | {
        "s": "cosine of a pair of images",
        r"\alpha": "cosine that pairs of a class should reach (`pos_margin`)",
        r"\beta": "cosine that other pairs should stay below (`neg_margin`)",
        r"\mathcal{A}^+,\,\mathcal{A}^-": "pairs of a class, and other pairs, that cost something",
    },
    sentence="Holds matching pairs above one similarity and all others below another, so that batches agree on scale.",
    unlike=(
        "Unlike Contrastive, its margins are cosines, and by default pairs of a class are not pulled "
        "once they reach theirs."
    ),
    differs=(
        "The mean is over the pairs still inside a hinge, as the published numbers were trained; the paper prints the "
        "mean over all pairs (`mean_over=all`)."
    ),
    follows_code=True,
    parameters=CalibrationParameters,
    module=Calibration,
    gallery=True,
    order=700,
)
