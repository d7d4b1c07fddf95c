"""The descriptor of a re-ranking, and how the results of one query are re-ranked with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class Reranking(Descriptor):
    """A re-ranking.

    Attributes:
        paper, year, url: where it comes from.
        differs: what is not as in the paper.
        score: takes a query and its candidates, unit rows ``[N, D]``, the query first, and parameters; returns the
            score of every row with the query, float64 ``[N]`` from -1 to 1, the best the highest.
    """

    paper: str
    year: int
    url: str
    differs: str = ""
    score: Callable[[np.ndarray, Any], np.ndarray]

    def rerank(
        self, query: np.ndarray, candidates: np.ndarray, similarity: np.ndarray, parameters: Any = None
    ) -> np.ndarray:
        """Re-rank one query's candidates and return their order; neighbours are sought among these images alone.

        Args:
            query: floating ``[D]``, a unit row.
            candidates: floating ``[n, D]``, unit rows, the query not among them.
            similarity: floating ``[n]``, cosines with the query; it orders candidates of equal score.
            parameters: of :attr:`parameters`; None: the defaults.

        Returns:
            int64 ``[n]``, places among the candidates, best first; equal ones in the order given.
        """
        if not len(candidates):
            return np.zeros(0, np.int64)
        rows = np.concatenate([query[None], candidates])
        scores = self.score(rows, self.parameters() if parameters is None else parameters)
        return np.lexsort((-np.asarray(similarity), -scores[1:]))


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Scale rows ``[N, D]`` to length one, in float64."""
    rows = rows.astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(min=1e-12)
