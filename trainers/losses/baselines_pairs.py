"""The classic pair and triplet losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from trainers.losses import _triplets
from trainers.losses._pairings import Pairings, active_mean
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


class PairLoss(LossModule):
    """A cost of the pairs of a batch.

    Args:
        title: for messages.
        cost: from the pairs to a scalar.
        positives, negatives: a batch without a pair of the kind is refused.
    """

    leaves_self_out = True

    def __init__(
        self, title: str, cost: Callable[[Pairings], Tensor], *, positives: bool = True, negatives: bool = False
    ) -> None:
        super().__init__()
        self.title, self.cost, self.positives, self.negatives = title, cost, positives, negatives

    def terms(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        own: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """One term, ``pairs``.

        Raises:
            UserError: no two images share a class, or (triplets) all share one.
        """
        given = (embeddings, labels, gallery, gallery_labels, own)
        return {"pairs": self.cost(Pairings.of(self.title, *given, positives=self.positives, negatives=self.negatives))}


@dataclass(frozen=True, kw_only=True)
class TripletParameters:
    margin: float = parameter(0.2, low=0.0, high=2.0, help="A positive should be closer than a negative by this much.")
    swap: bool = parameter(False, help="Compare the negative with the nearer of anchor and positive.")


def _triplet(cost: Callable[..., Tensor], title: str) -> Callable[..., PairLoss]:
    def build(
        parameters: TripletParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> PairLoss:
        given = partial(cost, margin=parameters.margin, swap=parameters.swap)
        return PairLoss(title, given, negatives=True)

    return build


@dataclass(frozen=True, kw_only=True)
class MultiSimilarityParameters:
    alpha: float = parameter(2.0, low=0.1, high=100.0, log=True, help="Sharpness of the positive term.")
    beta: float = parameter(50.0, low=0.1, high=200.0, log=True, help="Sharpness of the negative term.")
    base: float = parameter(0.5, low=-1.0, high=1.0, help="Cosine round which pairs start to count.")
    epsilon: float | None = parameter(
        0.1, low=0.0, high=2.0, help="Mining slack: keep pairs harder than the easiest rival by this; empty: keep all."
    )


def multi_similarity(pairs: Pairings, given: MultiSimilarityParameters) -> Tensor:
    """Mean over queries of both terms; a query without pairs of a kind adds 0 for it."""
    similarity = pairs.rows @ pairs.others.T
    positive, negative = pairs.positive, pairs.negative
    if given.epsilon is not None:
        known = similarity.detach()
        rival = known.masked_fill(~negative, -torch.inf).amax(1, keepdim=True)
        worst = known.masked_fill(~positive, torch.inf).amin(1, keepdim=True)
        positive = positive & (known - given.epsilon < rival)
        negative = negative & (known + given.epsilon > worst)
    pull = _log_one_plus(given.alpha * (given.base - similarity), positive) / given.alpha
    push = _log_one_plus(given.beta * (similarity - given.base), negative) / given.beta
    return (pull + push).mean()


def _log_one_plus(exponents: Tensor, chosen: Tensor) -> Tensor:
    """``[Q]``: log(1 + sum of exp over what is chosen in each row)."""
    one = exponents.new_zeros(len(exponents), 1)
    return torch.cat([exponents.masked_fill(~chosen, -torch.inf), one], 1).logsumexp(1)


def _multi_similarity(
    parameters: MultiSimilarityParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> PairLoss:
    mined = parameters.epsilon is not None
    return PairLoss("Multi-Similarity", partial(multi_similarity, given=parameters), negatives=mined)


@dataclass(frozen=True, kw_only=True)
class ContrastiveParameters:
    pos_margin: float = parameter(0.0, low=0.0, high=2.0, help="Images of a class are pulled to within this distance.")
    neg_margin: float = parameter(0.5, low=0.0, high=2.0, help="Images of other classes are pushed out to this.")


def contrastive(pairs: Pairings, given: ContrastiveParameters) -> Tensor:
    """Both hinges, each a mean over the pairs inside it."""
    pull = active_mean(pairs.distance - given.pos_margin, pairs.positive)
    return pull + active_mean(given.neg_margin - pairs.distance, pairs.negative)


def _contrastive(
    parameters: ContrastiveParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> PairLoss:
    return PairLoss("Contrastive", partial(contrastive, given=parameters), positives=False)


_TRIPLET = LossDescriptor(
    name="triplet",
    title="Triplet",
    family="Pair and triplet",
    paper="FaceNet: A Unified Embedding for Face Recognition and Clustering, Schroff et al., CVPR",
    year=2015,
    url="https://arxiv.org/abs/1503.03832",
    equation=r"\mathcal{L}=\operatorname{mean}_{(a,p,n):\,>0}\,[\,d_{ap}-d_{an}+m\,]_+",
    sentence="Each image should be nearer to one of its class than to one of another class, by a margin.",
    parameters=TripletParameters,
    module=_triplet(_triplets.every, "Triplet"),
    gallery=True,
    lists_triplets=True,
    order=501,
)

DESCRIPTORS = (
    _TRIPLET,
    replace(
        _TRIPLET,
        name="triplet_semihard",
        title="Triplet (semi-hard)",
        equation=r"\mathcal{L}=\operatorname{mean}_{d_{ap}<d_{an}\leq d_{ap}+m}\,[\,d_{ap}-d_{an}+m\,]_+",
        sentence="The triplet loss on negatives that are farther than the positive, but not by the margin yet.",
        module=_triplet(partial(_triplets.every, semihard=True), "Triplet (semi-hard)"),
        order=502,
    ),
    replace(
        _TRIPLET,
        name="triplet_hard",
        title="Triplet (hard)",
        paper="In Defense of the Triplet Loss for Person Re-Identification, Hermans et al.",
        year=2017,
        url="https://arxiv.org/abs/1703.07737",
        equation=r"\mathcal{L}=\operatorname{mean}_a\,[\,\max_p d_{ap}-\min_n d_{an}+m\,]_+",
        sentence="The triplet loss on each image's farthest positive and nearest negative in the batch.",
        module=_triplet(_triplets.hardest, "Triplet (hard)"),
        lists_triplets=False,
        order=503,
    ),
    replace(
        _TRIPLET,
        name="triplet_distance_weighted",
        title="Triplet (distance)",
        paper="Sampling Matters in Deep Embedding Learning, Wu et al., ICCV",
        year=2017,
        url="https://arxiv.org/abs/1706.07567",
        equation=(
            r"P(n\mid a)\propto\min\big(\lambda,\,q(d_{an})^{-1}\big),\quad "
            r"q(d)\propto d^{D-2}\big(1-\tfrac14d^2\big)^{(D-3)/2}"
        ),
        sentence="The triplet loss on negatives drawn evenly over their distances, so that hard ones are not rare.",
        module=_triplet(_triplets.distance_weighted, "Triplet (distance)"),
        pair_bytes=170,
        lists_triplets=False,
        order=504,
    ),
    LossDescriptor(
        name="multi_similarity",
        title="Multi-Similarity",
        family="Pair and triplet",
        paper="Multi-Similarity Loss with General Pair Weighting for Deep Metric Learning, Wang et al., CVPR",
        year=2019,
        url="https://arxiv.org/abs/1904.06627",
        equation=(
            r"\mathcal{L}=\frac1B\sum_i\Big[\tfrac1\alpha\log\big(1+\sum_{p}e^{-\alpha(s_{ip}-\lambda)}\big)"
            r"+\tfrac1\beta\log\big(1+\sum_{n}e^{\beta(s_{in}-\lambda)}\big)\Big]"
        ),
        sentence="Pairs count by how hard they are, both alone and compared with the other pairs of the image.",
        parameters=MultiSimilarityParameters,
        module=_multi_similarity,
        gallery=True,
        pair_bytes=170,
        order=500,
    ),
    LossDescriptor(
        name="contrastive",
        title="Contrastive",
        family="Pair and triplet",
        paper="Dimensionality Reduction by Learning an Invariant Mapping, Hadsell et al., CVPR",
        year=2006,
        url="https://doi.org/10.1109/CVPR.2006.100",
        equation=(
            r"\mathcal{L}=\operatorname{mean}_{y_{ij}=1,\,>0}[d_{ij}-m_+]_+"
            r"+\operatorname{mean}_{y_{ij}=0,\,>0}[m_--d_{ij}]_+"
        ),
        sentence="Images of a class are pulled together, images of different classes are pushed apart up to a margin.",
        parameters=ContrastiveParameters,
        module=_contrastive,
        gallery=True,
        order=505,
    ),
)
