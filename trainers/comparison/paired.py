"""The results per query of all runs under a condition, for pairing them query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainers.comparison.cell import Cell
from trainers.comparison.uncertainty import Classes
from trainers.runs.records import QueryScores


@dataclass(frozen=True, kw_only=True)
class PairedQueries:
    """Results of several runs on the same queries, grouped by class.

    Attributes:
        places: column of ``table`` by variant and seed; runs without results on these queries have none.
        table: a column per run; None: there are no such runs.
        apart: every run has results per query, if not in this metric, and runs of different seeds are on different test
            images.
    """

    places: Mapping[tuple[str, int], int]
    table: Classes | None
    apart: bool = False

    @classmethod
    def of(cls, cells: Sequence[Cell], metric: str) -> PairedQueries:
        """Select from cells under one condition the largest set of runs on the same test images and classes.

        Queries for which the metric is undefined in any of these runs are left out; as a rule these are the queries
        without a positive, the same ones in each run.
        """
        sets: list[list[tuple[Cell, QueryScores]]] = []
        having = [cell for cell in cells if cell.value(metric) is not None]
        for cell, queries in ((cell, cell.queries) for cell in having if cell.queries is not None):
            for some in sets:
                if _same_queries(some[0][1], queries):
                    some.append((cell, queries))
                    break
            else:
                sets.append([(cell, queries)])
        seeds = [{cell.seed for cell, _ in some} for some in sets]
        every = sum(map(len, sets)) == len(having)
        apart = every and len(set().union(*seeds)) == len(sets) > 1 and all(len(of_set) == 1 for of_set in seeds)
        known = [[(cell, scores) for cell, scores in some if metric in scores.metrics] for some in sets]
        largest = max(known, key=len, default=[])
        if not largest:
            return cls(places={}, table=None, apart=apart)
        values = np.stack([scores.values[0, scores.metrics.index(metric)] for _, scores in largest])
        defined = np.isfinite(values).all(0)
        if not defined.any():
            return cls(places={}, table=None, apart=apart)
        places = {(cell.variant, cell.seed): row for row, (cell, _) in enumerate(largest)}
        labels = largest[0][1].labels
        return cls(places=places, table=Classes.of(values[:, defined].astype(np.float64), labels[defined]), apart=apart)

    def classes(self, seeds: Sequence[int], first: str, second: str | None = None) -> Classes | None:
        """Return the results of a variant in these seeds, minus those of a second one; None: a run lacks them."""
        if self.table is None or not seeds:
            return None
        columns = []
        for variant in (first,) if second is None else (first, second):
            rows = [self.places.get((variant, seed)) for seed in seeds]
            if None in rows:
                return None
            columns.append(self.table.columns(np.array(rows)))
        return columns[0] if second is None else columns[0].minus(columns[1])


def _same_queries(first: QueryScores, second: QueryScores) -> bool:
    """Return whether two runs were scored on the same images, of the same classes; ids of classes may differ."""
    if first.fingerprint != second.fingerprint or not np.array_equal(first.rows, second.rows):
        return False
    return bool(np.array_equal(_by_first(first.labels), _by_first(second.labels)))


def _by_first(labels: np.ndarray) -> np.ndarray:
    """Return the index of the first query of each query's class: equal for labels that divide the queries alike."""
    _, first, compact = np.unique(labels, return_index=True, return_inverse=True)
    return first[compact]
