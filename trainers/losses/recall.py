"""Recall at k made trainable: Smooth-R@k, Sup-R@k, ROD-R@k, and the surrogate of Patel et al. with SiMix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import equal, host, send, tensor
from trainers.errors import ParameterError
from trainers.losses._batch import Batch
from trainers.losses._bound import DIFFERS, BoundParameters, Recall, SigmoidParameters, resolve
from trainers.losses._rank_loss import DecomposableParameters, RankLoss, SmoothRank, SupRank, Weights, described, weigh
from trainers.losses._symbols import BOUND, QUERY, RANK_PLUS, RANKED, SIGMOID, SOFTMAX
from trainers.losses.base import LossDescriptor, LossModule
from trainers.losses.proxies import PROXY_LEARNING_RATE
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class CutOffParameters:
    """The cut-offs and their softness."""

    at_k: tuple[int, ...] = parameter((1, 2, 4, 8, 16), low=1, high=10_000, help="The cut-offs k, averaged.")
    temp: float = parameter(1.0, low=0.05, high=20.0, log=True, help="Softness of the cut-off, in ranks.")

    @property
    def measure(self) -> Recall:
        """Recall at these cut-offs."""
        return Recall(at_k=self.at_k, temps=(self.temp,) * len(self.at_k))


@dataclass(frozen=True, kw_only=True)
class SmoothRecallParameters(CutOffParameters, SigmoidParameters):
    """Parameters of Smooth-R@k."""


@dataclass(frozen=True, kw_only=True)
class SupRecallParameters(CutOffParameters, BoundParameters):
    """Parameters of Sup-R@k."""


# Table II has both rows. The code's configurations of this loss name no weights, which makes them equal.
TERMS = {
    "table_ii_proxies": (Weights(rank=0.9, proxy=0.1), "0.9 and 0.1 with proxies (Ramzi et al. 2023, last row)"),
    "table_ii_pairs": (Weights(rank=0.9, calibration=0.1), "0.9 and 0.1 with pairs (the row above)"),
    "code_proxies": (Weights(rank=0.5, proxy=0.5), "0.5 and 0.5 with proxies (the code)"),
    "code_pairs": (Weights(rank=0.5, calibration=0.5), "0.5 and 0.5 with pairs (the code)"),
}


@dataclass(frozen=True, kw_only=True)
class RODRecallParameters(SupRecallParameters, DecomposableParameters):
    """Parameters of ROD-R@k: Sup-R@k's, the second term's, and the weights."""

    weight_recall: float | None = parameter(
        None, low=0.0, high=10.0, help="Weight of Sup-R@k; empty: as the terms say."
    )
    terms: str = parameter(next(iter(TERMS)), choices=tuple(TERMS), help=described(TERMS))


def smooth_recall(parameters: SmoothRecallParameters, **_classes: Any) -> RankLoss:
    """Build the mean over queries of 1 - (1/|K|) sum_k (1/min(k, P)) sum_i sig((k - rank_i) / temp) (Ramzi et al.
    2023).

    The query is its own positive when the batch is its own gallery, so perfect ranks do not give exactly zero. Any
    class sizes: P is each query's own number of positives.
    """
    return RankLoss(SmoothRank(tau=parameters.tau, measure=parameters.measure), name="recall", finest=True)


def sup_recall(parameters: SupRecallParameters, **_classes: Any) -> RankLoss:
    """Build the same with the bound's ranks."""
    return RankLoss(SupRank(bound=resolve(parameters), measure=parameters.measure), name="recall", finest=True)


def rod_recall(parameters: RODRecallParameters, **classes: Any) -> RankLoss:
    """Build (1 - lambda) Sup-R@k + lambda times the second term (Ramzi et al. 2023, Eq. 17 with Eq. 8 or Eq. 7)."""
    return RankLoss(
        SupRank(bound=resolve(parameters), measure=parameters.measure),
        name="recall",
        weights=weigh(parameters, parameters.weight_recall, TERMS[parameters.terms][0]),
        parameters=parameters,
        finest=True,
        **classes,
    )


SCORE = (
    r"1-\frac{1}{|K|}\sum_{k\in K}\frac{1}{\min(k,|\Omega^+|)}\sum_{i\in\Omega^+}"
    r"\sigma\Big(\frac{k-\mathrm{rank}_i}{T}\Big)"
)
_SMOOTH = LossDescriptor(
    name="smooth_recall",
    title="Smooth-R@k",
    family="Ranking",
    paper="Optimization of Rank Losses for Image Retrieval, Ramzi et al.",
    year=2023,
    url="https://arxiv.org/abs/2309.08250",
    equation=r"\mathcal{L}=" + SCORE + r",\quad \mathrm{rank}_i=1+\sum_{j\neq i}\sigma_\tau(s_j-s_i)",
    symbols={
        r"k\in K": "the cut-offs (`at_k`)",
        r"\sigma": "sigmoid",
        "T": "softness of a cut-off, in ranks (`temp`)",
        r"\Omega^+": "images of the query's class, itself among them",
    }
    | RANKED
    | SIGMOID,
    sentence="Asks for the right images among the first k results, with soft ranks and soft cut-offs.",
    unlike=(
        "Unlike Smooth-AP, it values a positive by how many of the cut-offs its soft rank is within, not "
        "by the precision at that rank."
    ),
    parameters=SmoothRecallParameters,
    module=smooth_recall,
    gallery=True,
    own_queries=True,
    order=106,
)

_RECALL = (
    _SMOOTH,
    replace(
        _SMOOTH,
        name="sup_recall",
        title="Sup-R@k",
        equation=r"\mathcal{L}=" + SCORE + r",\quad \mathrm{rank}_i=\mathrm{rank}^+_i+\sum_{j\in\Omega^-}H^-(s_j-s_i)",
        symbols={
            r"k\in K": "the cut-offs (`at_k`)",
            r"\sigma": "sigmoid",
            "T": "softness of a cut-off, in ranks (`temp`)",
            r"\Omega^+": "images of the query's class, itself among them",
            r"\Omega^-": "images of other classes",
        }
        | RANKED
        | RANK_PLUS
        | BOUND,
        sentence="Recall in the first k results, from an upper bound of every rank.",
        unlike=(
            "Unlike Smooth-R@k, it counts negatives above a positive along a rising line instead of a "
            "sigmoid, and positives above it without gradient."
        ),
        differs=DIFFERS,
        parameters=SupRecallParameters,
        module=sup_recall,
        order=105,
    ),
    replace(
        _SMOOTH,
        name="rod_recall",
        title="ROD-R@k",
        equation=(
            r"\mathcal{L}=(1-\lambda)\,\mathcal{L}_{\text{Sup-R@}k}"
            r"-\lambda\,\frac{1}{B}\sum_i\log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z\exp(x_i^\top p_z/T)}"
        ),
        symbols={
            r"\lambda": "weight of the proxy term (`weight_proxy`); 1 - λ is that of Sup-R@k (`weight_recall`)",
            r"\mathcal{L}_{\text{Sup-R@}k}": "the loss Sup-R@k, over its cut-offs k",
        }
        | SOFTMAX,
        sentence="Recall in the first k results, and a proxy per class so that it also holds on the whole set.",
        unlike="Unlike Sup-R@k, it adds a softmax over learned class proxies, which all batches share.",
        differs=(
            "Table II has a row with proxies, as here, and one with calibrated pairs (`terms`); the code weighs the "
            "two terms 0.5 and 0.5, and averages the calibration over the pairs still inside a hinge, where the paper "
            "prints all pairs (`mean_over=all`). " + DIFFERS
        ),
        parameters=RODRecallParameters,
        module=rod_recall,
        whole_batch={"terms": frozenset({"table_ii_pairs", "code_pairs"})},
        proxies=True,
        proxy_learning_rate=PROXY_LEARNING_RATE,
        order=104,
    ),
)


@dataclass(frozen=True, kw_only=True)
class PatelRecallParameters:
    """Parameters of RS@k."""

    tau_rank: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid that soft-counts ranks."
    )
    k: tuple[int, ...] = parameter((1, 2, 4, 8, 16), low=1, high=10_000, help="The cut-offs k, averaged.")
    tau_k: tuple[float, ...] = parameter(
        (1.0,), low=0.05, high=20.0, help="Softness of each cut-off, in ranks; one value serves all."
    )
    form: str = parameter(
        "code",
        choices=("code", "paper"),
        help="code keeps the query in its own list, which costs each positive a rank, and cuts k and the sums; "
        "paper does neither.",
    )
    simix: bool = parameter(False, help="Add a random mixture of each image with another of its class to the batch.")


class PatelRecall(LossModule):
    """Patel, Tolias, Matas, "Recall@k Surrogate Loss with Large Batches and Similarity Mixup", CVPR 2022, Eq. 6-7.

    As trained by the authors: a query is no positive of itself but stays among the items that push positives down;
    each k is cut at the gallery's size and each sum at k. As printed: the query is not in its list at all, and nothing
    is cut. Any class sizes; a query without positives is left out.
    """

    takes_views = False

    def __init__(self, parameters: PatelRecallParameters, **_classes: Any) -> None:
        super().__init__(parameters)
        temps = parameters.tau_k if len(parameters.tau_k) > 1 else parameters.tau_k * len(parameters.k)
        if len(temps) != len(parameters.k):
            raise ParameterError(
                f"RS@k needs one tau_k for all or one for each of the {len(parameters.k)} values of k; "
                f"got {len(parameters.tau_k)}."
            )
        trained = parameters.form == "code"
        self.ranker = SmoothRank(
            tau=parameters.tau_rank,
            measure=Recall(at_k=parameters.k, temps=temps, clip=trained),
            without_self=True,
            self_in_rank=trained,
        )

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``recall``: see the class."""
        return {"recall": self.ranker.loss(mixed(batch) if self.settings.simix and batch.alone else batch)}


def mixed(batch: Batch) -> Batch:
    """Add one virtual item per item of the batch that has a classmate: a x_i + (1 - a) x_j, a uniform in [0, 1].

    Virtual items are queries and gallery items like the others. They are not renormalised, so that every similarity
    with them is the same mixture of similarities, as SiMix asks. Draws from torch's global generator.
    """
    known, rows = host(batch.labels), batch.rows
    able = np.flatnonzero(batch.counts > 0)
    if len(able) == 0:
        return batch
    taken = send(able, rows.device)
    same = equal(batch.labels, batch.labels, rows.device).fill_diagonal_(False)[taken]
    # One classmate each, as torch.multinomial draws it, which waits for the device to look at the weights first.
    mate = (same.float() / torch.empty(same.shape, device=rows.device).exponential_()).argmax(1)
    share = torch.rand(len(able), 1, dtype=rows.dtype, device=rows.device)
    rows = torch.cat([rows, share * rows[taken] + (1.0 - share) * rows[mate]])
    labels = tensor(np.concatenate([known, known[able]]))
    itself = tensor(np.arange(len(labels)))
    return Batch(rows=rows, others=rows, labels=labels, other_labels=labels, itself=itself)


RECALL_PATEL = LossDescriptor(
    name="recall_at_k_patel",
    title="RS@k",
    family="Ranking",
    paper="Recall@k Surrogate Loss with Large Batches and Similarity Mixup, Patel et al., CVPR",
    year=2022,
    url="https://arxiv.org/abs/2108.11179",
    equation=(
        r"\mathcal{L}=\frac{1}{B}\sum_q 1-\frac{1}{|K|}\sum_{k\in K}\frac{1}{\min(k,|P_q|)}\sum_{p\in P_q}"
        r"\sigma_{\tau_k}\Big(k-1-\sum_{z\neq p}\sigma_\tau(s_z-s_p)\Big)"
    ),
    symbols=QUERY
    | {
        r"k\in K": "the cut-offs (`k`)",
        "P_q": "images of the class of the query q, itself left out",
        r"\tau_k": "softness of the cut-off k, in ranks (`tau_k`)",
        r"\sigma_\tau": "sigmoid of width τ (`tau_rank`): from 0 to 1 as image z passes image p",
        r"s_z,\,s_p": "cosines of the query with images z and p",
    },
    sentence="Counts, softly enough to train on, how many right images reach the first k results, for several k.",
    unlike=(
        "Unlike Smooth-R@k, it does not count the query among its own positives, but leaves it in the "
        "list, where it costs each of them a rank."
    ),
    differs=(
        "The query stays in its own list, so that even a perfect ranking starts at rank 2, and k and the sums are cut, "
        "as in the published code; the paper does neither (`form=paper`)."
    ),
    follows_code=True,
    parameters=PatelRecallParameters,
    module=PatelRecall,
    gallery=True,
    order=103,
)


DESCRIPTORS = (*_RECALL, RECALL_PATEL)
