"""Earlier ways to train for average precision: histograms of similarity, and black-box differentiation of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.losses._batch import Batch
from trainers.losses._symbols import QUERY
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


class ListLoss(LossModule):
    """A loss of each query's list of similarities in the batch or a gallery, the query itself left out."""

    needs_positives = True

    def of_lists(self, similarity: Tensor, positive: Tensor, candidate: Tensor) -> Tensor:
        """Compute the loss, a scalar, of similarities ``[Q, G]``, positives and candidates (bool ``[Q, G]``).

        Every query has a positive.
        """
        raise NotImplementedError

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return one part, ``ranking``; queries without a positive are left out."""
        kept = send(np.flatnonzero(batch.counts > 0), batch.rows.device)
        similarity, positive = batch.rows[kept] @ batch.others.T, batch.positive[kept]
        return {"ranking": self.of_lists(similarity, positive, positive | batch.negative[kept])}


def histogram_loss(values: Tensor, positive: Tensor, candidate: Tensor, centres: Tensor, width: float) -> Tensor:
    """Compute 1 - AP of each list, with precision and recall at the edge of every bin; return the mean.

    Args:
        values: ``[Q, G]``, of which each counts in the bins nearer than ``width``, the more the nearer.
        positive, candidate: bool ``[Q, G]``; every list has a positive.
        centres: ``[bins]``, best first.
        width: distance between neighbouring centres.
    """
    masses, hits = [], []
    for centre in centres:  # one [Q, G] table at a time
        inside = (1 - (values - centre).abs() / width).clamp(min=0)
        masses.append(inside.masked_fill(~candidate, 0.0).sum(1))
        hits.append(inside.masked_fill(~positive, 0.0).sum(1))
    in_bin, hit = torch.stack(masses, 1), torch.stack(hits, 1)
    precision = hit.cumsum(1) / in_bin.cumsum(1).clamp(min=1e-12)
    return (1 - (precision * hit).sum(1) / positive.sum(1)).mean()


@dataclass(frozen=True, kw_only=True)
class FastAPParameters:
    num_bins: int = parameter(10, low=2, high=100, help="Bins of the histogram of squared distances.")


class FastAP(ListLoss):
    """1 - AP read off a soft histogram of squared distances."""

    title = "FastAP"
    takes_gallery = False

    def of_lists(self, similarity: Tensor, positive: Tensor, candidate: Tensor) -> Tensor:
        bins = self.settings.num_bins
        centres = torch.linspace(0, 4, bins + 1, dtype=similarity.dtype, device=similarity.device)
        return histogram_loss(2 - 2 * similarity, positive, candidate, centres, 4 / bins)


@dataclass(frozen=True, kw_only=True)
class SoftBinParameters:
    num_bins: int = parameter(20, low=2, high=100, help="Bins of the histogram of cosines.")


class SoftBinAP(ListLoss):
    """1 - AP read off a soft histogram of cosines: precision and recall at the edge of every bin."""

    title = "Soft-binned AP"

    def of_lists(self, similarity: Tensor, positive: Tensor, candidate: Tensor) -> Tensor:
        centres = torch.linspace(1, -1, self.settings.num_bins, dtype=similarity.dtype, device=similarity.device)
        width = 2 / (self.settings.num_bins - 1)
        return histogram_loss(similarity.clamp(-1, 1), positive, candidate, centres, width)


class Rank(torch.autograd.Function):
    """Ranks of the scores in each row, 1 for the highest; backward by black-box differentiation.

    The ranks minimise <scores, ranks>, so the gradient is -(rank(y) - rank(y + lam dL/drank)) / lam: it points from
    the ranks as they are to those of scores moved a little against the loss.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lam: float) -> Tensor:
        ranks = _ranks(scores)
        ctx.save_for_backward(scores, ranks)
        ctx.lam = lam
        return ranks

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        scores, ranks = ctx.saved_tensors
        return -(ranks - _ranks(scores + ctx.lam * grad)) / ctx.lam, None


def _ranks(scores: Tensor) -> Tensor:
    order = scores.sort(dim=1, descending=True, stable=True).indices
    positions = torch.arange(1, scores.shape[1] + 1, dtype=scores.dtype, device=scores.device)
    return torch.empty_like(scores).scatter_(1, order, positions.expand_as(scores))


@dataclass(frozen=True, kw_only=True)
class BlackboxParameters:
    lam: float = parameter(4.0, low=0.1, high=100.0, log=True, help="How far scores are moved to see ranks change.")
    margin: float = parameter(0.02, low=0.0, high=1.0, help="Cosine by which positives must lead negatives.")


class BlackboxAP(ListLoss):
    """1 - AP with true ranks; positives start behind by the margin, so that a narrow lead still costs."""

    title = "Blackbox AP"

    def of_lists(self, similarity: Tensor, positive: Tensor, candidate: Tensor) -> Tensor:
        half = self.settings.margin / 2
        scores = similarity + torch.where(positive, -half, half)
        floor = -1e6  # what is no candidate goes to the end, far enough for no gradient to bring it back
        # lam is meant for one query's loss; without the factor the mean over queries would shrink the move to nothing.
        ranks = Rank.apply(scores.masked_fill(~candidate, floor), self.settings.lam * len(scores))
        # The order of positives among themselves is a constant: AP does not depend on it.
        among = _ranks(scores.detach().masked_fill(~positive, floor))
        precision = (among / ranks).masked_fill(~positive, 0.0)
        loss: Tensor = (1 - precision.sum(1) / positive.sum(1)).mean()
        return loss


DESCRIPTORS = (
    LossDescriptor(
        name="fastap",
        title="FastAP",
        family="Ranking",
        paper="Deep Metric Learning to Rank, Cakir et al., CVPR",
        year=2019,
        url="https://openaccess.thecvf.com/content_CVPR_2019/html/Cakir_Deep_Metric_Learning_to_Rank_CVPR_2019_paper.html",
        equation=r"\mathcal{L}=1-\frac1B\sum_q\frac1{N_q^+}\sum_b\frac{H^+_b\,h^+_b}{H_b}",
        symbols=QUERY
        | {
            "N_q^+": "number of images of the class of the query q, itself left out",
            "h^+_b": "how many of them fall in bin b of the squared distances, softly counted",
            "H^+_b": "how many of them fall in bin b and nearer bins",
            "H_b": "how many images of any class fall in bin b and nearer bins",
        },
        sentence="AP read off a histogram of squared distances, which gradients can pass through.",
        unlike=(
            "Unlike Soft-binned AP, it bins squared distances, by default half as finely; for embeddings of "
            "length 1 nothing else differs."
        ),
        parameters=FastAPParameters,
        module=FastAP,
        pair_bytes=500,
        order=107,
    ),
    LossDescriptor(
        name="softbin_ap",
        title="Soft-binned AP",
        family="Ranking",
        paper="Learning with Average Precision: Training Image Retrieval with a Listwise Loss, Revaud et al., ICCV",
        year=2019,
        url="https://arxiv.org/abs/1906.07589",
        equation=r"\mathcal{L}=1-\frac1B\sum_q\sum_m P_m\,\Delta R_m",
        symbols=QUERY
        | {
            "P_m": "precision of all images in bin m of the cosines and higher bins, softly counted",
            r"\Delta R_m": "share of the images of the query's class that fall in bin m",
        },
        sentence="AP read off a soft histogram of cosines: precision and gained recall in every bin.",
        unlike="Unlike FastAP, it bins cosines, by default twice as finely, and can use a cross-batch memory.",
        parameters=SoftBinParameters,
        module=SoftBinAP,
        gallery=True,
        pair_bytes=500,
        order=108,
    ),
    LossDescriptor(
        name="blackbox_ap",
        title="Blackbox AP",
        family="Ranking",
        paper="Optimizing Rank-Based Metrics with Blackbox Differentiation, Rolínek et al., CVPR",
        year=2020,
        url="https://arxiv.org/abs/1912.03500",
        equation=(
            r"\mathcal{L}=1-AP(\mathrm{rk}(s)),\quad\frac{\partial\mathcal L}{\partial s}"
            r":=-\frac1\lambda\Big[\mathrm{rk}(s)-\mathrm{rk}"
            r"\Big(s+\lambda\frac{\partial\mathcal L}{\partial\mathrm{rk}}\Big)\Big]"
        ),
        symbols={
            "s": "cosines of the query with the images of the batch",
            r"\mathrm{rk}(s)": "the ranks of s, 1 for the highest",
            "AP": "average precision, from these ranks",
            r"\lambda": "how far cosines are moved to see ranks change (`lam`)",
        },
        sentence="Average precision from true ranks; the gradient asks how ranks change when scores move a little.",
        unlike="Unlike Smooth-AP, it computes true ranks and approximates only their gradient.",
        parameters=BlackboxParameters,
        module=BlackboxAP,
        gallery=True,
        order=109,
    ),
)
