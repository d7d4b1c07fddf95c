"""The values of metrics where mistakes of known severity are put into a perfect ranking.

The query has :data:`SIZES` images at each distance in a label tree of three levels. In the perfect ranking they come in
order of relevance. Then some images of one distance are moved up, to follow each other from a chosen rank on. After the
illustration of H-AP in Ramzi et al., ECCV 2022, section 3; sizes and ranks are ours.
"""

from __future__ import annotations

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
SIZES = (24, 8, 8, 8)  # images that share 0, 1, 2 and 3 levels with the query
MISTAKES = 6  # at most; fewer than there are images at any distance
RANKS = 8  # a first mistake after all images of the class would be none
METRICS = ("AP", "HAP", "NDCG", "ASI")
WORDS = tuple(severity_words(Hierarchy(levels=LEVELS, names=((), (), ()))))


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


def ranking(shared: int, mistakes: int, rank: int) -> list[int]:
    """Return levels shared with the query by each result, best first.

    Args:
        shared: of the mistakes, 0 to 2.
        mistakes: 0 to :data:`MISTAKES`.
        rank: of the first mistake, 1 to :data:`RANKS`.
    """
    perfect = [level for level in reversed(range(len(SIZES))) for _ in range(SIZES[level])]
    begin = perfect.index(shared)
    rest = perfect[:begin] + perfect[begin + mistakes :]
    return rest[: rank - 1] + [shared] * mistakes + rest[rank - 1 :]


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    """Return every severity with every number of mistakes at every rank."""
    made = [
        (shared, count, rank)
        for shared in range(len(LEVELS))
        for count in range(MISTAKES + 1)
        for rank in range(1, RANKS + 1)
    ]
    rankings = [ranking(*each) for each in made]
    values = scores(rankings)
    return tuple(
        Case(shared=shared, mistakes=count, rank=rank, ranking=tuple(listed), values=tuple(row))
        for (shared, count, rank), listed, row in zip(made, rankings, values, strict=True)
    )


def scores(rankings: list[list[int]]) -> list[list[float]]:
    """Compute every metric of :data:`METRICS` for rankings of one length, whose items share levels of a tree."""
    lists = torch.tensor(rankings)
    legend = codes_of(len(LEVELS), lists.device, tree=True)  # a code is then the number of levels shared
    block = RankedBlock.of(lists, legend, (lists > 0).sum(1).numpy())
    values = score_blocks([(slice(0, len(lists)), block)], parse_all(METRICS, len(LEVELS))).values
    table: list[list[float]] = np.stack([values[name] for name in METRICS], axis=1).tolist()
    return table
