"""A rank loss over all label levels or the finest, with an optional proxy softmax: Smooth-AP, HAPPIER, ROD-NDCG."""

from __future__ import annotations

from torch import Tensor

from trainers.losses._batch import PairBatch, SimilarityLoss
from trainers.losses._proxies import draw_proxies, proxy_softmax
from trainers.losses._rank import SupRank
from trainers.losses._smooth import SmoothRank


class RankLoss(SimilarityLoss):
    """weight_rank * rank loss + weight_proxy * proxy softmax; the second only where its weight is above zero.

    Args:
        ranker: ranks and scores each query.
        name: key of the rank term.
        finest: read the finest label level only.
        weight_rank, weight_proxy: the two weights.
        temperature: of the proxy softmax.
        num_classes, dim: shape of the proxies.
    """

    def __init__(
        self,
        ranker: SupRank | SmoothRank,
        *,
        name: str,
        finest: bool = False,
        weight_rank: float = 1.0,
        weight_proxy: float = 0.0,
        temperature: float = 0.05,
        num_classes: int = 0,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.ranker, self.name, self.finest = ranker, name, finest
        self.weight_rank, self.weight_proxy, self.temperature = weight_rank, weight_proxy, temperature
        if weight_proxy > 0:
            self.proxies = draw_proxies(num_classes, dim)

    def parts(self, batch: PairBatch) -> dict[str, Tensor]:
        """The rank term under its name, and ``proxy`` where it has a weight."""
        parts = {self.name: self.weight_rank * self.ranker.loss(batch)}
        if self.weight_proxy > 0:
            loss = proxy_softmax(batch.queries, batch.labels, self.proxies, self.temperature)
            parts["proxy"] = self.weight_proxy * loss
        return parts
