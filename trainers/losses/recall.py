"""Recall at k made trainable: Smooth-R@k, Sup-R@k, and ROD-R@k, which adds class proxies or calibrated pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trainers.losses._bound import DIFFERS, BoundParameters, SigmoidParameters, resolve
from trainers.losses._proxies import PROXY_LEARNING_RATE
from trainers.losses._rank_loss import DecomposableParameters, RankLoss, Weights, described, weigh
from trainers.losses._rank_measures import Recall
from trainers.losses._smooth_rank import SmoothRank
from trainers.losses._sup_rank import SupRank
from trainers.losses._symbols import BOUND, RANK_PLUS, RANKED, SIGMOID, SOFTMAX
from trainers.losses.base import LossDescriptor
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

DESCRIPTORS = (
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
