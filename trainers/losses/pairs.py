"""The classic pair and triplet losses, and the contrastive loss of cross-batch memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from trainers.losses._batch import Batch, active_mean
from trainers.losses._symbols import BATCH, COSINE, DISTANCE, HINGE, SAME, TRIPLET
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

HELD = 2**22  # triplets held at once
CLOSEST, FARTHEST = 0.5, 1.4  # distances between which weighted negatives are drawn (Wu et al. 2017)


def every(batch: Batch, margin: float, swap: bool, *, semihard: bool = False) -> Tensor:
    """Return the mean of the positive hinges of all triplets.

    Args:
        batch: queries against the gallery.
        margin: by which a negative should be farther than a positive.
        swap: a negative's distance is that to the nearer of anchor and positive.
        semihard: only triplets whose negative is farther than the positive, by no more than the margin.
    """
    total, count = batch.distance.new_zeros(()), batch.distance.new_zeros(())
    column, none = batch.listed
    among = _among_others(batch) if swap else None
    for part in _parts(batch):
        near = batch.distance.gather(1, column[:, part])[:, :, None]
        far = batch.distance[:, None]
        counted = batch.negative[:, None] & ~none[:, part, None]
        if semihard:
            gap = (far - near).detach()
            counted = counted & (gap > 0) & (gap <= margin)
        if among is not None:
            far = torch.minimum(far, among[column[:, part]])
        hinge = near - far + margin
        counted = counted & (hinge > 0)
        total = total + hinge.masked_fill(~counted, 0.0).sum()
        count = count + counted.sum()
    return total / count.clamp(min=1)


def hardest(batch: Batch, margin: float, swap: bool) -> Tensor:
    """Return the mean positive hinge of each anchor's farthest positive and nearest negative, if it has both."""
    worst = batch.distance.detach().masked_fill(~batch.positive, -torch.inf).argmax(1)
    rival = batch.distance.detach().masked_fill(~batch.negative, torch.inf).argmin(1)
    there = batch.positive.any(1) & batch.negative.any(1)
    return _chosen(batch, worst[:, None], rival[:, None], there[:, None], margin, swap)


def distance_weighted(batch: Batch, margin: float, swap: bool) -> Tensor:
    """Return the mean of the positive hinges of drawn triplets: as many for each anchor as its class has images.

    Draws from torch's global generator (Wu et al. 2017, "Sampling Matters in Deep Embedding Learning").

    A positive is drawn evenly, a negative with weight 1 / q(d), q the density of distances between points spread evenly
    over the sphere, d at least :data:`CLOSEST`; from :data:`FARTHEST` on none is drawn.
    """
    column, none = batch.listed
    weights = negative_weights(batch)
    shape = len(column), column.shape[1] + int(batch.alone)
    known = (~none).sum(1, keepdim=True)
    uniform = torch.rand(2, *shape, dtype=weights.dtype, device=weights.device)
    choice = torch.minimum((uniform[0] * known).long(), (known - 1).clamp(min=0))
    positive = column.gather(1, choice)
    running = weights.cumsum(1)
    negative = torch.searchsorted(running, uniform[1] * running[:, -1:], right=True).clamp(max=weights.shape[1] - 1)
    drawn = torch.arange(shape[1], device=weights.device) < known + int(batch.alone)
    there = drawn & (known > 0) & (weights.gather(1, negative) > 0)
    return _chosen(batch, positive, negative, there, margin, swap)


def negative_weights(batch: Batch) -> Tensor:
    """Return ``[Q, G]`` probability that each item is drawn as a negative, up to a factor for each row."""
    dim, distance = batch.rows.shape[1], batch.distance.detach()
    spread = distance.clamp(min=CLOSEST)
    log_weight = (2.0 - dim) * spread.log() - ((dim - 3) / 2) * (1.0 - 0.25 * spread.square()).log()
    allowed = batch.negative & log_weight.isfinite() & (distance < FARTHEST)
    log_weight = log_weight.masked_fill(~allowed, -torch.inf)
    most = log_weight.amax(1, keepdim=True)
    return (log_weight - most.masked_fill(most == -torch.inf, 0.0)).exp()


def _chosen(batch: Batch, positive: Tensor, negative: Tensor, there: Tensor, margin: float, swap: bool) -> Tensor:
    """Return the mean of the positive hinges of the triplets (row, positive, negative) ``[Q, K]`` that are there."""
    near, far = batch.distance.gather(1, positive), batch.distance.gather(1, negative)
    if swap:
        far = torch.minimum(far, _among_others(batch)[positive, negative])
    return active_mean(near - far + margin, there)


def _among_others(batch: Batch) -> Tensor:
    """Return the distances ``[G, G]`` between the items that queries are compared with."""
    return batch.distance if batch.alone else torch.cdist(batch.others, batch.others)


def _parts(batch: Batch) -> Iterator[slice]:
    """Yield slices of the listed positives, as many at once as may be held."""
    width = batch.listed[0].shape[1]
    step = max(1, HELD // max(1, batch.distance.numel()))
    yield from (slice(first, first + step) for first in range(0, width, step))


@dataclass(frozen=True, kw_only=True)
class TripletParameters:
    margin: float = parameter(0.2, low=0.0, high=2.0, help="A positive should be closer than a negative by this much.")
    swap: bool = parameter(False, help="Compare the negative with the nearer of anchor and positive.")


class Triplet(LossModule):
    """A mean of hinges over triplets.

    Args:
        parameters: margin and swap.
        title: for messages.
        cost: of :mod:`trainers.losses.pairs`: which triplets.
    """

    needs_positives = True
    needs_negatives = True

    def __init__(
        self, parameters: TripletParameters, *, title: str, cost: Callable[..., Tensor], **_classes: Any
    ) -> None:
        super().__init__(parameters)
        self.title, self.cost = title, cost

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        return {"pairs": self.cost(batch, self.settings.margin, self.settings.swap)}


@dataclass(frozen=True, kw_only=True)
class MultiSimilarityParameters:
    alpha: float = parameter(2.0, low=0.1, high=100.0, log=True, help="Sharpness of the positive term.")
    beta: float = parameter(50.0, low=0.1, high=200.0, log=True, help="Sharpness of the negative term.")
    base: float = parameter(0.5, low=-1.0, high=1.0, help="Cosine round which pairs start to count.")
    epsilon: float | None = parameter(
        0.1, low=0.0, high=2.0, help="Mining slack: keep pairs harder than the easiest rival by this; empty: keep all."
    )


class MultiSimilarity(LossModule):
    """Mean over queries of both terms; a query without pairs of a kind adds 0 for it."""

    title = "Multi-Similarity"
    needs_positives = True

    def __init__(self, parameters: MultiSimilarityParameters, **_classes: Any) -> None:
        super().__init__(parameters)
        self.needs_negatives = parameters.epsilon is not None  # mining compares positives with negatives

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        given, similarity = self.settings, batch.similarity
        positive, negative = batch.positive, batch.negative
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


class ContrastivePairs(LossModule):
    """Both hinges, each a mean over the pairs inside it."""

    title = "Contrastive"

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        pull = active_mean(batch.distance - self.settings.pos_margin, batch.positive)
        push = active_mean(self.settings.neg_margin - batch.distance, batch.negative)
        return {"pairs": pull + push}


def _triplet(title: str, cost: Callable[..., Tensor]) -> dict[str, Any]:
    """Title and module of a triplet loss."""
    return {"title": title, "module": partial(Triplet, title=title, cost=cost)}


_TRIPLET = LossDescriptor(
    name="triplet",
    **_triplet("Triplet", every),
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

_BASELINES_PAIRS = (
    _TRIPLET,
    replace(
        _TRIPLET,
        name="triplet_semihard",
        **_triplet("Triplet (semi-hard)", partial(every, semihard=True)),
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
        **_triplet("Triplet (hard)", hardest),
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
        **_triplet("Triplet (distance)", distance_weighted),
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
        module=ContrastivePairs,
        gallery=True,
        order=505,
    ),
)


@dataclass(frozen=True, kw_only=True)
class XBMContrastiveParameters:
    margin: float = parameter(0.5, low=-1.0, high=1.0, help="Cosine above which images of other classes are penalised.")
    positive_cutoff: float = parameter(
        0.99999,
        low=0.0,
        high=1.0,
        searched=False,
        help="Cosine from which an image of the class counts as the query itself.",
    )
    negatives: str = parameter(
        "similarity",
        choices=("similarity", "hinge"),
        help="What a negative above the margin costs: its cosine s, as in the code, or s - margin, of equal slope.",
    )


class XBMContrastive(LossModule):
    """Per query: sum of 1 - s over positives below the cutoff, plus sum of s over negatives above the margin.

    The cutoff is the published way to drop the query's own copy from a memory that holds the current batch; where it is
    known which row that is, it is dropped whatever its cosine.
    """

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``positives`` and ``negatives``."""
        similarity, given = batch.similarity, self.settings
        pull = batch.positive & (similarity < given.positive_cutoff)
        push = batch.negative & (similarity > given.margin)
        cost = similarity if given.negatives == "similarity" else similarity - given.margin
        return {
            "positives": (1 - similarity).masked_fill(~pull, 0.0).sum() / len(batch.rows),
            "negatives": cost.masked_fill(~push, 0.0).sum() / len(batch.rows),
        }


XBM_CONTRASTIVE = LossDescriptor(
    name="xbm_contrastive",
    title="Contrastive (XBM)",
    family="Pair and triplet",
    paper="Cross-Batch Memory for Embedding Learning, Wang et al., CVPR",
    year=2020,
    url="https://arxiv.org/abs/1912.06798",
    equation=(
        r"\mathcal{L}=\frac1B\sum_i\Big[\sum_{j:\,y_{ij}=1,\,s_{ij}<1}(1-s_{ij})"
        r"+\sum_{j:\,y_{ij}=0,\,s_{ij}>m}s_{ij}\Big]"
    ),
    symbols=BATCH | SAME | COSINE | {"m": "cosine above which images of other classes cost (`margin`)"},
    sentence="Pulls images of a class together and pushes near images of other classes away, in a cross-batch memory.",
    unlike=(
        "Unlike Contrastive, it takes cosines, sums over an image's pairs instead of averaging, and "
        "keeps a memory of earlier batches."
    ),
    differs=(
        "A negative above the margin costs its cosine s, as in the published code, not s - margin as in a hinge "
        "(`negatives=hinge`); the gradient is the same."
    ),
    follows_code=True,
    parameters=XBMContrastiveParameters,
    module=XBMContrastive,
    gallery=True,
    own_queries=True,
    memory=1024,
    order=506,
)


DESCRIPTORS = (*_BASELINES_PAIRS, XBM_CONTRASTIVE)
