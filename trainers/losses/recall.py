"""Recall at k made trainable: Smooth-R@k, Sup-R@k, and ROD-R@k, which adds the pair calibration."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._batch import pair_batch
from trainers.losses._bound import BoundParameters, resolve
from trainers.losses._hinge import calibration
from trainers.losses._measures import Recall
from trainers.losses._rank import SupRank
from trainers.losses._smooth import SmoothRank
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

AT_K = (1, 2, 4, 8, 16)
K_HELP = "The cut-offs k, averaged."
TEMP_HELP = "Softness of the cut-off, in ranks."


@dataclass(frozen=True, kw_only=True)
class SmoothRecallParameters:
    """Parameters of Smooth-R@k."""

    tau: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid; small is close to true counting."
    )
    at_k: tuple[int, ...] = parameter(AT_K, low=1, high=10_000, help=K_HELP)
    temp: float = parameter(1.0, low=0.05, high=20.0, log=True, help=TEMP_HELP)


@dataclass(frozen=True, kw_only=True)
class SupRecallParameters(BoundParameters):
    """Parameters of Sup-R@k: the bound's, the cut-offs and their softness."""

    at_k: tuple[int, ...] = parameter(AT_K, low=1, high=10_000, help=K_HELP)
    temp: float = parameter(1.0, low=0.05, high=20.0, log=True, help=TEMP_HELP)


@dataclass(frozen=True, kw_only=True)
class RODRecallParameters(SupRecallParameters):
    """Parameters of ROD-R@k: Sup-R@k's, two margins and the weights."""

    weight_recall: float = parameter(0.9, low=0.0, high=10.0, help="Weight of Sup-R@k.")
    weight_calibration: float = parameter(0.1, low=0.0, high=10.0, help="Weight of the pair calibration.")
    pos_margin: float = parameter(0.9, low=-1.0, high=1.0, help="Same-class pairs below this cosine are pulled.")
    neg_margin: float = parameter(0.6, low=-1.0, high=1.0, help="Other pairs above this cosine are pushed.")


class RecallAtK(LossModule):
    """Mean over queries of 1 - (1/|K|) sum_k (1/min(k, P)) sum_i sig((k - rank_i) / temp) (Ramzi et al. 2023).

    The query is its own positive when the batch is its own gallery, so perfect ranks do not give exactly zero. Any
    class sizes: P is each query's own number of positives.
    """

    def __init__(
        self,
        parameters: SmoothRecallParameters | SupRecallParameters,
        *,
        num_classes: int,
        dim: int,
        class_labels: Tensor | None = None,
    ) -> None:
        super().__init__()
        measure = Recall(at_k=parameters.at_k, temps=(parameters.temp,) * len(parameters.at_k))
        if isinstance(parameters, BoundParameters):
            self.ranker = SupRank(bound=resolve(parameters), measure=measure)
        else:
            self.ranker = SmoothRank(tau=parameters.tau, measure=measure)
        self.rod = parameters if isinstance(parameters, RODRecallParameters) else None

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """``recall``, and for ROD-R@k ``calibration``."""
        batch = pair_batch(embeddings, labels, gallery, gallery_labels, finest=True)
        loss = self.ranker.loss(batch)
        if self.rod is None:
            return {"recall": loss}
        hinges = calibration(batch, self.rod.pos_margin, self.rod.neg_margin)
        return {"recall": self.rod.weight_recall * loss, "calibration": self.rod.weight_calibration * hinges}


PAPER = "Optimization of Rank Losses for Image Retrieval, Ramzi et al."
URL = "https://arxiv.org/abs/2309.08250"
SCORE = (
    r"1-\frac{1}{|K|}\sum_{k\in K}\frac{1}{\min(k,|\Omega^+|)}\sum_{i\in\Omega^+}"
    r"\sigma\Big(\frac{k-\mathrm{rank}_i}{T}\Big)"
)

DESCRIPTORS = (
    LossDescriptor(
        name="smooth_recall",
        title="Smooth-R@k",
        family="Ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=" + SCORE + r",\quad \mathrm{rank}_i=1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)",
        sentence="Asks for the right images among the first k results, with soft ranks and soft cut-offs.",
        parameters=SmoothRecallParameters,
        module=RecallAtK,
        gallery=True,
        order=106,
    ),
    LossDescriptor(
        name="sup_recall",
        title="Sup-R@k",
        family="Ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=" + SCORE + r",\quad \mathrm{rank}_i=\mathrm{rank}^+_i+\sum_{j\in\Omega^-}H^-(s_j-s_i)",
        sentence="Recall in the first k results, with the rank bound that keeps pulling on images ranked far too low.",
        parameters=SupRecallParameters,
        module=RecallAtK,
        gallery=True,
        order=105,
    ),
    LossDescriptor(
        name="rod_recall",
        title="ROD-R@k",
        family="Ranking",
        paper=PAPER,
        year=2023,
        url=URL,
        equation=r"\mathcal{L}=(1-\lambda)\,\mathcal{L}_{\text{Sup-R@}k}+\lambda\,\mathcal{L}_{\text{calibration}}",
        sentence="Recall in the first k results, plus one similarity scale so that it also holds on the whole set.",
        parameters=RODRecallParameters,
        module=RecallAtK,
        gallery=True,
        order=104,
    ),
)
