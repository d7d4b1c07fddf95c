"""Metrics with relevant and irrelevant items: AP, mAP@R, mAP@k, R@k, P@k, true recall at k."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.metrics.names import Metric
from trainers.metrics.ranked_lists import RankedBlock


class BinaryScores:
    """The metrics of one label column on one block; the running hit count is shared between them."""

    def __init__(self, block: RankedBlock, level: int) -> None:
        self.block = block
        self.rank = block.rank.double()
        self.hit = block.matches(level).double()
        self.precision = block.hits_so_far(level) / self.rank * self.hit
        self.relevant = block.per_list(self.hit)

    def score(self, metric: Metric) -> Tensor:
        """float64 ``[b]``; NaN for a list without a relevant item.

        With rel(r) in {0, 1}, P(r) the precision at r and R the number of relevant items in the list:
        AP = (1/R) sum_r P(r) rel(r); AP_at_R stops at r = R; AP_at_k stops at k and divides by min(R, k);
        R_at_k = 1 if one of the first k is relevant; true_R_at_k = (relevant in the first k) / min(R, k);
        P_at_k = (relevant in the first k) / k.
        """
        found = self.relevant > 0
        cut = self._cut(metric)
        within = 1.0 if cut is None else self.rank <= self.block.spread(cut)
        limit = self.relevant if cut is None else torch.minimum(cut, self.relevant)
        if metric.kind == "AP":
            value = self.block.per_list(self.precision * within) / limit
        else:
            hits = self.block.per_list(self.hit * within)
            value = {"R": hits.clamp(max=1), "P": hits / cut, "true_R": hits / limit}[metric.kind]
        return value.masked_fill(~found, torch.nan)

    def _cut(self, metric: Metric) -> Tensor | None:
        if metric.k is None:
            return None
        return self.relevant if metric.k == 0 else torch.full_like(self.relevant, metric.k)
