"""ROADMAP: Sup-AP made decomposable by a second term on similarities or class proxies."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._batch import pair_batch
from trainers.losses._bound import BoundParameters, resolve
from trainers.losses._hinge import calibration
from trainers.losses._measures import AveragePrecision
from trainers.losses._proxies import PROXY_LEARNING_RATE, draw_proxies, proxy_softmax
from trainers.losses._rank import SupRank
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

# The published weight of the second term, whichever of the two it is.
SECOND = 0.1


@dataclass(frozen=True, kw_only=True)
class RoadmapParameters(BoundParameters):
    """Parameters of ROADMAP: the bound's, two margins, and the weights of its terms."""

    weight_ap: float = parameter(0.9, low=0.0, high=10.0, help="Weight of Sup-AP.")
    weight_calibration: float | None = parameter(
        None,
        low=0.0,
        high=10.0,
        help="Weight of the pair calibration; empty is 0.1, or 0 where proxies take its place.",
    )
    pos_margin: float = parameter(0.9, low=-1.0, high=1.0, help="Same-class pairs below this cosine are pulled.")
    neg_margin: float = parameter(0.6, low=-1.0, high=1.0, help="Other pairs above this cosine are pushed.")
    weight_proxy: float = parameter(
        0.0, low=0.0, high=10.0, help="Weight of the proxy softmax (ROADMAP++); above 0 learns one proxy per class."
    )
    temperature: float = parameter(0.05, low=0.005, high=1.0, log=True, help="Temperature of the proxy softmax.")


class Roadmap(LossModule):
    """Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval", NeurIPS 2021, Eq. 8.

    Default weights 0.9 / 0.1 as in the later journal text; the first repository used 1 / 1, the first paper 0.5 / 0.5.
    """

    def __init__(
        self, parameters: RoadmapParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> None:
        super().__init__()
        self.parameters_ = parameters
        self.ranker = SupRank(bound=resolve(parameters), measure=AveragePrecision())
        self.weight_calibration = parameters.weight_calibration
        if self.weight_calibration is None:
            self.weight_calibration = 0.0 if parameters.weight_proxy > 0 else SECOND
        if parameters.weight_proxy > 0:
            self.proxies = draw_proxies(num_classes, dim)

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """``ap``, then ``calibration`` and ``proxy`` where their weights are above zero."""
        given = self.parameters_
        batch = pair_batch(embeddings, labels, gallery, gallery_labels, finest=True)
        parts = {"ap": given.weight_ap * self.ranker.loss(batch)}
        if self.weight_calibration > 0:
            parts["calibration"] = self.weight_calibration * calibration(batch, given.pos_margin, given.neg_margin)
        if given.weight_proxy > 0:
            loss = proxy_softmax(batch.queries, batch.labels[:, 0], self.proxies, given.temperature)
            parts["proxy"] = given.weight_proxy * loss
        return parts


DESCRIPTOR = LossDescriptor(
    name="roadmap",
    title="ROADMAP",
    family="Ranking",
    paper="Robust and Decomposable Average Precision for Image Retrieval, Ramzi et al., NeurIPS",
    year=2021,
    url="https://arxiv.org/abs/2110.01445",
    equation=(
        r"\mathcal{L} = (1-\lambda)\,\mathcal{L}_{\text{Sup-AP}}"
        r"+\lambda\Big(\tfrac{1}{|\mathcal{A}^+|}\sum[\alpha-s]_+ +\tfrac{1}{|\mathcal{A}^-|}\sum[s-\beta]_+\Big)"
    ),
    sentence="Average precision inside the batch, and one similarity scale so that it also holds on the whole set.",
    parameters=RoadmapParameters,
    module=Roadmap,
    gallery=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=101,
)
