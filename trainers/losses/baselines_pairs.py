"""The classic pair and triplet losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from trainers.losses import _triplets
from trainers.losses._pairings import Pairings, PairLoss, active_mean
from trainers.losses._symbols import BATCH, DISTANCE, HINGE, SAME, TRIPLET
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class TripletParameters:
    margin: float = parameter(0.2, low=0.0, high=2.0, help="A positive should be closer than a negative by this much.")
    swap: bool = parameter(False, help="Compare the negative with the nearer of anchor and positive.")


class Triplet(PairLoss):
    """A mean of hinges over triplets.

    Args:
        parameters: margin and swap.
        title: for messages.
        cost: of :mod:`trainers.losses._triplets`: which triplets.
    """

    needs_negatives = True

    def __init__(
        self, parameters: TripletParameters, *, title: str, cost: Callable[..., Tensor], **_classes: Any
    ) -> None:
        super().__init__(parameters)
        self.title, self.cost = title, cost

    def parts(self, pairs: Pairings) -> dict[str, Tensor]:
        """See :class:`PairLoss`."""
        return {"pairs": self.cost(pairs, self.settings.margin, self.settings.swap)}


@dataclass(frozen=True, kw_only=True)
class MultiSimilarityParameters:
    alpha: float = parameter(2.0, low=0.1, high=100.0, log=True, help="Sharpness of the positive term.")
    beta: float = parameter(50.0, low=0.1, high=200.0, log=True, help="Sharpness of the negative term.")
    base: float = parameter(0.5, low=-1.0, high=1.0, help="Cosine round which pairs start to count.")
    epsilon: float | None = parameter(
        0.1, low=0.0, high=2.0, help="Mining slack: keep pairs harder than the easiest rival by this; empty: keep all."
    )


class MultiSimilarity(PairLoss):
    """Mean over queries of both terms; a query without pairs of a kind adds 0 for it."""

    title = "Multi-Similarity"

    def __init__(self, parameters: MultiSimilarityParameters, **_classes: Any) -> None:
        super().__init__(parameters)
        self.needs_negatives = parameters.epsilon is not None  # mining compares positives with negatives

    def parts(self, pairs: Pairings) -> dict[str, Tensor]:
        """See :class:`PairLoss`."""
        given, similarity = self.settings, pairs.rows @ pairs.others.T
        positive, negative = pairs.positive, pairs.negative
        if given.epsilon is not None:
            known = similarity.detach()
            rival = known.masked_fill(~negative, -torch.inf).amax(1, keepdim=True)
            worst = known.masked_fill(~positive, torch.inf).amin(1, keepdim=True)
            positive = positive & (known - given.epsilon < rival)
            negative = negative & (known + given.epsilon > worst)
        pull = _log_one_plus(given.alpha * (given.base - similarity), positive) / given.alpha
        push = _log_one_plus(given.beta * (similarity - given.base), negative) / given.beta
        return {"pairs": (pull + push).mean()}


def _log_one_plus(exponents: Tensor, chosen: Tensor) -> Tensor:
    """Return ``[Q]``: log(1 + sum of exp over what is chosen in each row)."""
    zeros = exponents.new_zeros(len(exponents), 1)
    return torch.cat([exponents.masked_fill(~chosen, -torch.inf), zeros], 1).logsumexp(1)


@dataclass(frozen=True, kw_only=True)
class ContrastiveParameters:
    pos_margin: float = parameter(0.0, low=0.0, high=2.0, help="Images of a class are pulled to within this distance.")
    neg_margin: float = parameter(0.5, low=0.0, high=2.0, help="Images of other classes are pushed out to this.")


class Contrastive(PairLoss):
    """Both hinges, each a mean over the pairs inside it."""

    title = "Contrastive"
    needs_positives = False

    def parts(self, pairs: Pairings) -> dict[str, Tensor]:
        """See :class:`PairLoss`."""
        pull = active_mean(pairs.distance - self.settings.pos_margin, pairs.positive)
        push = active_mean(self.settings.neg_margin - pairs.distance, pairs.negative)
        return {"pairs": pull + push}


def _triplet(title: str, cost: Callable[..., Tensor]) -> dict[str, Any]:
    """Title and module of a triplet loss."""
    return {"title": title, "module": partial(Triplet, title=title, cost=cost)}


_TRIPLET = LossDescriptor(
    name="triplet",
    **_triplet("Triplet", _triplets.every),
    family="Pair and triplet",
    paper="FaceNet: A Unified Embedding for Face Recognition and Clustering, Schroff et al., CVPR",
    year=2015,
    url="https://arxiv.org/abs/1503.03832",
    equation=r"\mathcal{L}=\operatorname{mean}_{(a,p,n):\,>0}\,[\,d_{ap}-d_{an}+m\,]_+",
    symbols=TRIPLET,
    sentence="Each image should be nearer to one of its class than to one of another class, by a margin.",
    unlike=(
        "Unlike Contrastive, it compares the distances of a positive and a negative with each other, not "
        "each with a margin of its own."
    ),
    parameters=TripletParameters,
    gallery=True,
    lists_triplets=True,
    order=501,
)

DESCRIPTORS = (
    _TRIPLET,
    replace(
        _TRIPLET,
        name="triplet_semihard",
        **_triplet("Triplet (semi-hard)", partial(_triplets.every, semihard=True)),
        equation=r"\mathcal{L}=\operatorname{mean}_{d_{ap}<d_{an}\leq d_{ap}+m}\,[\,d_{ap}-d_{an}+m\,]_+",
        sentence="The triplet loss on negatives that are farther than the positive, but not by the margin yet.",
        unlike=(
            "Unlike Triplet, it takes only negatives that are farther than the positive, by no more than the margin."
        ),
        order=502,
    ),
    replace(
        _TRIPLET,
        name="triplet_hard",
        **_triplet("Triplet (hard)", _triplets.hardest),
        paper="In Defense of the Triplet Loss for Person Re-Identification, Hermans et al.",
        year=2017,
        url="https://arxiv.org/abs/1703.07737",
        equation=r"\mathcal{L}=\operatorname{mean}_a\,[\,\max_p d_{ap}-\min_n d_{an}+m\,]_+",
        sentence="The triplet loss on each image's farthest positive and nearest negative in the batch.",
        unlike=("Unlike Triplet, it takes one triplet per image: its farthest positive and its nearest negative."),
        lists_triplets=False,
        order=503,
    ),
    replace(
        _TRIPLET,
        name="triplet_distance_weighted",
        **_triplet("Triplet (distance)", _triplets.distance_weighted),
        paper="Sampling Matters in Deep Embedding Learning, Wu et al., ICCV",
        year=2017,
        url="https://arxiv.org/abs/1706.07567",
        equation=(
            r"P(n\mid a)\propto\min\big(\lambda,\,q(d_{an})^{-1}\big),\quad "
            r"q(d)\propto d^{D-2}\big(1-\tfrac14d^2\big)^{(D-3)/2}"
        ),
        symbols={
            r"P(n\mid a)": "probability that image n is drawn as the negative of the anchor a",
            "q(d)": "how many points of a sphere are at distance d from one of them, up to a factor",
            "d_{an}": "Euclidean distance of a and n",
            "D": "dimension of the embeddings",
            r"\lambda": "highest weight: that of a negative at the distance 0.5",
        },
        sentence="The triplet loss on negatives drawn evenly over their distances, so that hard ones are not rare.",
        unlike=("Unlike Triplet, it draws negatives at random, with weights that make up for how rare near ones are."),
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
        symbols=BATCH
        | {
            "s_{ip}": "cosine of image i and an image p of its class",
            "s_{in}": "cosine of image i and an image n of another class",
            r"\alpha,\,\beta": "sharpness of the two terms (`alpha`, `beta`)",
            r"\lambda": "cosine round which pairs start to count (`base`)",
        },
        sentence="Pairs count by how hard they are, both alone and compared with the other pairs of the image.",
        unlike=(
            "Unlike Contrastive, it weighs each pair by how its cosine compares with those of the image's other pairs."
        ),
        parameters=MultiSimilarityParameters,
        module=MultiSimilarity,
        gallery=True,
        own_queries=True,
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
        symbols=SAME
        | DISTANCE
        | HINGE
        | {
            "m_+": "distance within which images of a class cost nothing (`pos_margin`)",
            "m_-": "distance beyond which images of other classes cost nothing (`neg_margin`)",
        },
        sentence="Images of a class are pulled together, images of different classes are pushed apart up to a margin.",
        unlike="Unlike Triplet, it compares each distance with a margin, not with another distance.",
        parameters=ContrastiveParameters,
        module=Contrastive,
        gallery=True,
        order=505,
    ),
)
