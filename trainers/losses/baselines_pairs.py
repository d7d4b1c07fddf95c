"""The classic pair and triplet losses, computed by pytorch-metric-learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor, nn

from trainers.losses._inputs import (
    contrast_set,
    count_positives,
    flatten_own,
    need_negatives,
    need_positives,
    one_view,
)
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

Indices = tuple[Tensor, ...]  # (anchor, positive, negative), or (anchor, positive, anchor, negative)


class MinedPairs(LossModule):
    """A pair or triplet loss of pytorch-metric-learning, with a miner that chooses what it looks at (or None: all).

    Args:
        title: for messages.
        loss: called as ``loss(embeddings, labels, indices, ref_emb, ref_labels)``.
        miner: called as ``miner(embeddings, labels, ref_emb, ref_labels)``.
        triplets: the loss compares a positive with a negative, so a batch needs both.
        positives: a batch without a positive pair is refused.
    """

    leaves_self_out = True

    def __init__(
        self, title: str, loss: nn.Module, miner: nn.Module | None, *, triplets: bool = False, positives: bool = True
    ) -> None:
        super().__init__()
        self.title, self.loss, self.miner = title, loss, miner
        self.triplets, self.positives = triplets, positives

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
        rows, row_labels = one_view(embeddings, labels)
        others, other_labels = (None, None) if gallery is None else contrast_set(gallery, gallery_labels)
        itself = None if gallery is None else flatten_own(own)
        if self.positives:
            need_positives(self.title, row_labels, other_labels, itself)
        if self.triplets:
            need_negatives(self.title, row_labels, other_labels)
        indices = None
        if self.miner is not None:
            # With separate arguments for the batch itself the library would treat each image as its own positive.
            indices = self.miner(rows, row_labels, *(() if others is None else (others, other_labels)))
        if itself is not None:
            indices = self._without_self(indices, row_labels, other_labels, itself)
        return {"pairs": self.loss(rows, row_labels, indices, others, other_labels)}

    def _without_self(self, indices: Indices | None, labels: Tensor, gallery_labels: Tensor, itself: Tensor) -> Indices:
        """Pairs or triplets, mined or all, less those whose positive is the anchor's own copy."""
        from pytorch_metric_learning.utils import loss_and_miner_utils as library

        if indices is None:
            every = library.get_all_triplets_indices if self.triplets else library.get_all_pairs_indices
            indices = every(labels, gallery_labels)
        kept = indices[1] != itself[indices[0]]
        if len(indices) == 3:
            return tuple(index[kept] for index in indices)
        anchors, negatives = indices[2:]
        if (
            self.miner is not None
        ):  # it chose the negatives of an anchor by its positives: none are left of a lonely one
            some = (count_positives(labels, gallery_labels, itself) > 0)[anchors]
            anchors, negatives = anchors[some], negatives[some]
        return indices[0][kept], indices[1][kept], anchors, negatives


@dataclass(frozen=True, kw_only=True)
class TripletParameters:
    margin: float = parameter(0.2, low=0.0, high=2.0, help="A positive should be closer than a negative by this much.")
    swap: bool = parameter(False, help="Compare the negative with the nearer of anchor and positive.")


def _triplet(mining: str, title: str) -> Callable[..., MinedPairs]:
    def build(
        parameters: TripletParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> MinedPairs:
        from pytorch_metric_learning import losses, miners  # slow to import

        loss = losses.TripletMarginLoss(margin=parameters.margin, swap=parameters.swap)
        miner = {
            "all": lambda: None,
            "semihard": lambda: miners.TripletMarginMiner(margin=parameters.margin, type_of_triplets="semihard"),
            "hard": lambda: miners.BatchHardMiner(),
            "distance_weighted": lambda: miners.DistanceWeightedMiner(),
        }[mining]()
        return MinedPairs(title, loss, miner, triplets=True)

    return build


@dataclass(frozen=True, kw_only=True)
class MultiSimilarityParameters:
    alpha: float = parameter(2.0, low=0.1, high=100.0, log=True, help="Sharpness of the positive term.")
    beta: float = parameter(50.0, low=0.1, high=200.0, log=True, help="Sharpness of the negative term.")
    base: float = parameter(0.5, low=-1.0, high=1.0, help="Cosine round which pairs start to count.")
    epsilon: float | None = parameter(
        0.1, low=0.0, high=2.0, help="Mining slack: keep pairs harder than the easiest rival by this; empty: keep all."
    )


def _multi_similarity(
    parameters: MultiSimilarityParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> MinedPairs:
    from pytorch_metric_learning import losses, miners

    loss = losses.MultiSimilarityLoss(alpha=parameters.alpha, beta=parameters.beta, base=parameters.base)
    miner = None if parameters.epsilon is None else miners.MultiSimilarityMiner(epsilon=parameters.epsilon)
    return MinedPairs("Multi-Similarity", loss, miner, triplets=miner is not None)


@dataclass(frozen=True, kw_only=True)
class ContrastiveParameters:
    pos_margin: float = parameter(0.0, low=0.0, high=2.0, help="Images of a class are pulled to within this distance.")
    neg_margin: float = parameter(0.5, low=0.0, high=2.0, help="Images of other classes are pushed out to this.")


def _contrastive(
    parameters: ContrastiveParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> MinedPairs:
    from pytorch_metric_learning import losses

    loss = losses.ContrastiveLoss(pos_margin=parameters.pos_margin, neg_margin=parameters.neg_margin)
    return MinedPairs("Contrastive", loss, None, positives=False)


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
    module=_triplet("all", "Triplet"),
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
        module=_triplet("semihard", "Triplet (semi-hard)"),
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
        module=_triplet("hard", "Triplet (hard)"),
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
        module=_triplet("distance_weighted", "Triplet (distance)"),
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
