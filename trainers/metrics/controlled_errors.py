"""The values of metrics where mistakes of known severity are put into a perfect ranking.

The query has :data:`UNRELATED` images that share nothing with it, and :data:`RELATED` that share one level of the label
tree, two levels, and so on. In the perfect ranking they come in
order of relevance. Then some images of one distance are moved up, to follow each other from a chosen rank on. After the
illustration of H-AP in Ramzi et al., ECCV 2022, section 3; sizes and ranks are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from trainers.hierarchy import Hierarchy, severity_words
from trainers.metrics.blocks import codes_of
from trainers.metrics.names import parse_all
from trainers.metrics.ranked_lists import RankedBlock
from trainers.metrics.scores import score_blocks

LEVELS = ("class", "group", "family")
"""Of data whose own levels are not known."""
MOST_LEVELS = 6
UNRELATED, RELATED = 24, 8
MISTAKES = 6  # at most; fewer than there are images at any distance
RANKS = 8  # a first mistake after all images of the class would be none
METRICS = ("AP", "HAP", "NDCG", "ASI")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One ranking with mistakes.

    Attributes:
        shared: levels that each mistake shares with the query, 0 the worst, less than all.
        mistakes: how many there are.
        rank: of the first one, from 1.
        ranking: levels shared by each result, best first.
        values: one per name in :data:`METRICS`.
    """

    shared: int
    mistakes: int
    rank: int
    ranking: tuple[int, ...]
    values: tuple[float, ...]


def words_of(levels: Sequence[str]) -> list[str]:
    """Return the words for results that share 0, 1, ... of the levels, which are named finest first."""
    return severity_words(Hierarchy(levels=tuple(levels), names=((),) * len(levels)))


def ranking(shared: int, mistakes: int, rank: int, depth: int) -> list[int]:
    """Return levels shared with the query by each result, best first.

    Args:
        shared: of the mistakes, 0 to ``depth - 1``.
        mistakes: 0 to :data:`MISTAKES`.
        rank: of the first mistake, 1 to :data:`RANKS`.
        depth: levels of the label tree.
    """
    perfect = [level for level in range(depth, 0, -1) for _ in range(RELATED)] + [0] * UNRELATED
    begin = perfect.index(shared)
    rest = perfect[:begin] + perfect[begin + mistakes :]
    return rest[: rank - 1] + [shared] * mistakes + rest[rank - 1 :]


@lru_cache(maxsize=MOST_LEVELS)
def cases(depth: int) -> tuple[Case, ...]:
    """Return every severity of a label tree with every number of mistakes at every rank.

    Args:
        depth: levels of the tree, 1 to :data:`MOST_LEVELS`.
    """
    made = [
        (shared, count, rank)
        for shared in range(depth)
        for count in range(MISTAKES + 1)
        for rank in range(1, RANKS + 1)
    ]
    rankings = [ranking(*each, depth) for each in made]
    values = scores(rankings, depth)
    return tuple(
        Case(shared=shared, mistakes=count, rank=rank, ranking=tuple(listed), values=tuple(row))
        for (shared, count, rank), listed, row in zip(made, rankings, values, strict=True)
    )


def scores(rankings: list[list[int]], depth: int) -> list[list[float]]:
    """Compute every metric of :data:`METRICS` for rankings of one length, whose items share levels of a tree."""
    lists = torch.tensor(rankings)
    legend = codes_of(depth, lists.device, tree=True)  # a code is then the number of levels shared
    block = RankedBlock.of(lists, legend, (lists > 0).sum(1).numpy())
    values = score_blocks([(slice(0, len(lists)), block)], parse_all(METRICS, depth)).values
    table: list[list[float]] = np.stack([values[name] for name in METRICS], axis=1).tolist()
    return table
