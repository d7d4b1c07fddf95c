"""The settings of a search."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.errors import ParameterError
from trainers.parameters import Choice, entry
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.reranking import RERANKINGS

MOST_RESULTS = 1000
AUTO = Choice(name="auto")
"""An index chosen by size."""


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """What a search is asked for beside its query; see :meth:`trainers.retrieval.retriever.Retriever.retrieve`."""

    k: int
    index: Choice
    rerank: Choice | None
    step: int | None
    scores: bool
    curves: bool

    def check(self) -> None:
        """Raise ParameterError for what no search can be made with."""
        if not 1 <= self.k <= MOST_RESULTS:
            raise ParameterError(f"k needs a whole number from 1 to {MOST_RESULTS:,}; got {self.k}.")
        if self.step is not None and self.step < 0:
            raise ParameterError(f"Steps are counted from 0; got {self.step}.")
        if self.index.name != AUTO.name:
            entry(INDEXES, self.index.name, "index").checked(self.index.parameters)
        if self.rerank is not None:
            entry(RERANKINGS, self.rerank.name, "re-ranking").checked(self.rerank.parameters)
