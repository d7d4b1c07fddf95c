"""Sup-AP: average precision with an upper bound on the rank that keeps pulling on badly ranked items."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._batch import pair_batch
from trainers.losses._bound import DIFFERS, BoundParameters, resolve
from trainers.losses._measures import AveragePrecision
from trainers.losses._rank import SupRank
from trainers.losses.base import LossDescriptor, LossModule


@dataclass(frozen=True, kw_only=True)
class SupAPParameters(BoundParameters):
    """Parameters of Sup-AP: the bound's."""


class SupAP(LossModule):
    """Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval", NeurIPS 2021, Eq. 5.

    Mean over queries of 1 - (1/|Omega+|) sum_i rank+_i / rank_i: positives above i counted by the true step, negatives
    by its bound. Any row order and class sizes; labels with several levels are read at the finest.
    """

    def __init__(
        self, parameters: SupAPParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> None:
        super().__init__()
        self.ranker = SupRank(bound=resolve(parameters), measure=AveragePrecision())

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """``ap``: see the class."""
        batch = pair_batch(embeddings, labels, gallery, gallery_labels, finest=True)
        return {"ap": self.ranker.loss(batch)}


DESCRIPTOR = LossDescriptor(
    name="sup_ap",
    title="Sup-AP",
    family="Ranking",
    paper="Robust and Decomposable Average Precision for Image Retrieval, Ramzi et al., NeurIPS",
    year=2021,
    url="https://arxiv.org/abs/2110.01445",
    equation=(
        r"\mathcal{L} = \frac{1}{B}\sum_q \Big(1 - \frac{1}{|\Omega^+_q|}\sum_{i\in\Omega^+_q}"
        r"\frac{\mathrm{rank}^+_i}{\mathrm{rank}^+_i+\sum_{j\in\Omega^-_q}H^-(s_j-s_i)}\Big)"
    ),
    sentence="Never reports a better average precision than the true one, and pulls hard on items ranked far too high.",
    differs=DIFFERS,
    parameters=SupAPParameters,
    module=SupAP,
    gallery=True,
    order=102,
)
