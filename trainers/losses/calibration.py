"""The calibration loss: one similarity scale for every query, so that batch ranks add up to ranks of the whole set."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._batch import PairBatch, SimilarityLoss
from trainers.losses._hinge import MEAN_OVER, MEAN_OVER_HELP, calibration
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class CalibrationParameters:
    """Parameters of the calibration loss."""

    pos_margin: float = parameter(0.9, low=-1.0, high=1.0, help="Same-class pairs below this cosine are pulled.")
    neg_margin: float = parameter(0.6, low=-1.0, high=1.0, help="Other pairs above this cosine are pushed.")
    mean_over: str = parameter("active", choices=MEAN_OVER, help=MEAN_OVER_HELP)


class Calibration(SimilarityLoss):
    """Ramzi et al., "Optimization of Rank Losses for Image Retrieval", 2023, Eq. 7; first in ROADMAP, NeurIPS 2021."""

    leaves_self_out = True

    def parts(self, batch: PairBatch) -> dict[str, Tensor]:
        """``calibration``: the two hinges, see :func:`trainers.losses._hinge.calibration`."""
        given = self.settings
        return {"calibration": calibration(batch, given.pos_margin, given.neg_margin, given.mean_over)}


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
    sentence="Holds matching pairs above one similarity and all others below another, so that batches agree on scale.",
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
