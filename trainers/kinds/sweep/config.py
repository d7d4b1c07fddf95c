"""The settings of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import parameter

MOST_SEEDS = 20
MOST_RUNS = 500
"""Of one sweep, or of one part of a fair comparison."""


@dataclass(frozen=True, kw_only=True)
class SweepConfig(MetricLearningConfig):
    """The settings of each of its runs, and what they differ in. Its ``seed`` counts for nothing."""

    kind: ClassVar[str] = "sweep"

    seeds: tuple[int, ...] = parameter(
        (0, 1, 2),
        low=0,
        high=2**31 - 1,
        help="Every loss is trained once with each; runs of one seed start from the same weights and batches.",
    )
    vary: Mapping[str, Any] = parameter(
        factory=dict,
        help="Settings, or parameters of losses, with the values to try, e.g. dim=32;64;128 or happier.alpha=1;5.",
    )
    parallel: int = parameter(
        1, low=1, high=64, help="Runs that train at once without a GPU; with GPUs one run trains on each."
    )

    @classmethod
    def migrated(cls, values: dict[str, Any]) -> dict[str, Any] | None:
        """There were no sweeps in earlier versions."""
        return None
