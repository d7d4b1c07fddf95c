"""A rank loss and the terms that make it decomposable, weighted as published: pair calibration and a proxy softmax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from trainers.losses._batch import PairBatch, SimilarityLoss
from trainers.losses._bound import BoundParameters
from trainers.losses._proxies import draw_proxies, proxy_softmax
from trainers.losses._smooth_rank import SmoothRank
from trainers.losses._sup_rank import SupRank
from trainers.losses.calibration import MEAN_OVER, MEAN_OVER_HELP, calibration
from trainers.parameters import parameter


def temperature() -> Any:
    """Return the parameter ``temperature``."""
    return parameter(0.05, low=0.005, high=1.0, log=True, help="Temperature of the proxy softmax.")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of the three terms; a term of weight zero is left out."""

    rank: float = 1.0
    calibration: float = 0.0
    proxy: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProxyTermParameters:
    """The weights of a rank term and a proxy softmax, and the softmax's temperature."""

    weight_rank: float = parameter(0.9, low=0.0, high=10.0, help="Weight of the rank term.")
    weight_proxy: float = parameter(0.1, low=0.0, high=10.0, help="Weight of the proxy softmax on the finest level.")
    temperature: float = temperature()

    @property
    def weights(self) -> Weights:
        """Both weights."""
        return Weights(rank=self.weight_rank, proxy=self.weight_proxy)


@dataclass(frozen=True, kw_only=True)
class DecomposableParameters(BoundParameters):
    """The bound's parameters and those of the second term, pairs or proxies."""

    weight_proxy: float | None = parameter(
        None,
        low=0.0,
        high=10.0,
        help="Weight of the proxy softmax (Eq. 8); empty: as the terms say, or 0 if the pairs have a weight.",
    )
    weight_calibration: float | None = parameter(
        None,
        low=0.0,
        high=10.0,
        help="Weight of the pair calibration (Eq. 7); empty: as the terms say, or 0 if the proxies have a weight.",
    )
    temperature: float = temperature()
    pos_margin: float = parameter(
        0.9, low=-1.0, high=1.0, help="Calibration: same-class pairs below this cosine are pulled."
    )
    neg_margin: float = parameter(
        0.6, low=-1.0, high=1.0, help="Calibration: other pairs above this cosine are pushed."
    )
    mean_over: str = parameter("active", choices=MEAN_OVER, help=f"Calibration: {MEAN_OVER_HELP}")


def weigh(parameters: DecomposableParameters, rank: float | None, published: Weights) -> Weights:
    """Return the weights given, and the published ones where none was given.

    Who names the weight of one second term has chosen it: the other is then left out unless it is named too.

    Args:
        parameters: with the weights of the second terms, or None.
        rank: the rank term's weight, or None.
        published: what stands where nothing was given.
    """
    pairs, proxies = parameters.weight_calibration, parameters.weight_proxy
    if pairs is None and proxies is None:
        pairs, proxies = published.calibration, published.proxy
    return Weights(rank=published.rank if rank is None else rank, calibration=pairs or 0.0, proxy=proxies or 0.0)


def described(published: Mapping[str, tuple[Weights, str]]) -> str:
    """Return the published settings in one sentence, for the help of the parameter that chooses one."""
    return f"{'; '.join(f'{name}: {source}' for name, (_, source) in published.items())}. A weight given wins."


class RankLoss(SimilarityLoss):
    """weights.rank * rank loss + weights.calibration * pair calibration + weights.proxy * proxy softmax.

    The query is its own positive in the rank term and no pair with itself in the calibration; so is its copy in a
    memory.

    Args:
        ranker: ranks and scores each query.
        name: key of the rank term.
        finest: read the finest label level only; off: all levels.
        weights: of the three terms.
        parameters: of the second terms.
        num_classes, dim: shape of the proxies.
    """

    def __init__(
        self,
        ranker: SupRank | SmoothRank,
        *,
        name: str,
        finest: bool = False,
        weights: Weights = Weights(),
        parameters: ProxyTermParameters | DecomposableParameters | None = None,
        num_classes: int = 0,
        dim: int = 0,
        class_labels: Tensor | None = None,
    ) -> None:
        super().__init__(parameters)
        self.ranker, self.name, self.finest, self.weights = ranker, name, finest, weights
        self.leaves_self_out = weights.calibration > 0
        if weights.proxy > 0:
            self.proxies = draw_proxies(num_classes, dim)

    def parts(self, batch: PairBatch) -> dict[str, Tensor]:
        """Return the rank term by its name, then ``calibration`` and ``proxy`` where their weights are above zero."""
        given, weights = self.settings, self.weights
        parts = {self.name: weights.rank * self.ranker.loss(batch)}
        if weights.calibration > 0:
            hinges = calibration(batch, given.pos_margin, given.neg_margin, given.mean_over)
            parts["calibration"] = weights.calibration * hinges
        if weights.proxy > 0:
            loss = proxy_softmax(batch.queries, batch.labels, self.proxies, given.temperature)
            parts["proxy"] = weights.proxy * loss
        return parts
