"""The descriptor of a re-ranking, and how one list and a whole set are re-ranked with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.registry import Descriptor

Scores = Callable[[slice], np.ndarray]
"""Scores of a slice of the images against every image: float64 ``[b, N]`` from -1 to 1, the best the highest."""


@dataclass(frozen=True, kw_only=True)
class Reranking(Descriptor):
    """A re-ranking.

    Attributes:
        paper, year, url: where it comes from.
        differs: what is not as in the paper.
        prepare: finds the neighbourhoods of images, unit rows ``[N, D]``, and returns their :data:`Scores`. It holds
            lists of neighbours and a block of scores, never ``[N, N]`` numbers.
    """

    paper: str
    year: int
    url: str
    differs: str = ""
    prepare: Callable[[np.ndarray, Any], Scores]

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
        scores = self.scores(rows, parameters)(slice(0, 1))[0, 1:]
        return np.lexsort((-np.asarray(similarity), -scores))

    def scores(self, rows: np.ndarray, parameters: Any = None) -> Scores:
        """Return a function that scores images searched among themselves, a block of queries at a time.

        For queries outside the gallery both together are ``rows``, as in the papers' protocols.

        Args:
            rows: floating ``[N, D]``, unit rows.
            parameters: of :attr:`parameters`; None: the defaults.
        """
        return self.prepare(rows, self.parameters() if parameters is None else parameters)
