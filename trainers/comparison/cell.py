"""One result of a comparison: a variant under a condition, trained with one seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainers.errors import UserError
from trainers.runs.records import QueryScores

Condition = Mapping[str, float | int | str]
"""The conditions of a training, by name: ``{"noise": 0.2, "batch": 64}``."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The result that one arm of one run ended with.

    Attributes:
        variant: what is compared, as printed: a loss with its parameters.
        condition: what it was trained under; variants are compared within a condition.
        seed: of the training. Variants with the same seed saw the same batches, so their results are paired.
        metrics: means over the whole test set by metric name; empty for a run that failed.
        queries: the same results query by query, of this arm alone; None: not kept.
    """

    variant: str
    condition: Condition
    seed: int
    metrics: Mapping[str, float]
    queries: QueryScores | None = None

    def value(self, metric: str) -> float | None:
        """Return the mean of a metric; None where it is missing or not finite, as of a run that failed."""
        value = self.metrics.get(metric)
        return float(value) if value is not None and math.isfinite(value) else None


def check(cells: Sequence[Cell]) -> None:
    """Refuse what cannot be compared.

    Raises:
        UserError: two cells have the same variant, condition and seed, or results per query are of several arms.
    """
    seen: set[object] = set()
    for cell in cells:
        key = (cell.variant, condition_key(cell.condition), cell.seed)
        if key in seen:
            under = "".join(f", {name} {value}" for name, value in cell.condition.items())
            raise UserError(
                f"One result for each variant, condition and seed was needed; got two of {cell.variant[:80]}, "
                f"seed {cell.seed}{under}. Leave one out."
            )
        seen.add(key)
        if cell.queries is not None and len(cell.queries.values) != 1:
            raise UserError(
                f"The results per query of one arm were needed; got those of {len(cell.queries.values)}. "
                "Choose an arm with of(arm)."
            )


def condition_key(condition: Condition) -> frozenset[tuple[str, float | int | str]]:
    """Return a condition as a key, whatever the order of its names."""
    return frozenset(condition.items())
