"""ASI."""

from __future__ import annotations

import torch
from torch import Tensor

from trainers.metrics.measure import Measure
from trainers.metrics.ranking import Lists


def asi(lists: Lists, _k: int | None, _level: int) -> Tensor:
    """Return ASI: mean over n = 1..N of SI(n) / n, N the number of items sharing any level. float64 ``[b]``, NaN if
    undefined.

    SI(n) = sum over levels of min(items of the level in the first n, items of it in the ideal first n).
    """
    block = lists.block
    counts = block.counts
    last = counts.flip(1).cumsum(1).flip(1)
    n = torch.arange(len(block.row), device=counts.device) - block.spread(block.start) + 1
    # The first N of a list are as many entries as its relevant items, so they share the block's row layout.
    head = block.codes.reshape(-1).index_select(0, block.row * block.codes.shape[1] + n - 1)
    head = head if block.legend.tree else block.legend.level.index_select(0, head)
    common = torch.zeros_like(n)
    for level in range(1, block.legend.depth + 1):
        so_far = block.running(head == level)
        size = block.spread(counts[:, level])
        above = block.spread((last - counts)[:, level])
        common += torch.minimum(so_far, torch.minimum((n - above).clamp(min=0), size))
    return block.per_list(common.double() / n) / torch.where(block.size > 0, block.size.double(), torch.nan)


DESCRIPTOR = Measure(
    name="ASI",
    title="ASI",
    sentence="Overlap of the first n results with the best list's, level by level, averaged over n.",
    family="ranking",
    paper="Dynamic Metric Learning, Sun et al., CVPR 2021",
    url="https://arxiv.org/abs/2103.11781",
    equation=r"ASI=\frac1N\sum_{n=1}^N\frac{SI(n)}{n}",
    symbols={
        "N": "number of images that share any level of the label tree with the query",
        "SI(n)": "how many of the first n results would also be among the first n of the best order, level by level",
    },
    order=90,
    score=asi,
)
