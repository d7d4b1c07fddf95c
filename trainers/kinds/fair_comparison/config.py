"""The settings of a fair comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from trainers.kinds.sweep.config import SweepConfig
from trainers.parameters import parameter

FOLDS = 2
"""Folds of the training classes in the search, where the settings ask for none."""


@dataclass(frozen=True, kw_only=True)
class FairComparisonConfig(SweepConfig):
    """A sweep whose losses are searched first.

    ``data.conditions.folds`` is the number of folds of the search; the runs that are compared train on all of them.
    """

    kind: ClassVar[str] = "fair_comparison"

    trials: int = parameter(
        8,
        low=1,
        high=100,
        title="Trials per loss",
        help="Settings tried for each loss, the one given among them.",
    )
    select_by: str = parameter(
        "AP_at_R",
        title="Chosen by",
        help="The metric whose mean over the folds decides which trial is best.",
    )
    search_steps: int | None = parameter(
        None,
        low=1,
        high=10_000_000,
        title="Most steps of a trial",
        help="Makes the search cheaper than the runs that are compared; empty: a trial is as long as they are.",
    )
    search_seed: int = parameter(
        1000,
        low=0,
        high=2**31 - 1,
        help="Seed of the search: of the settings that are tried, and of the weights and batches of every trial.",
    )

    @property
    def folds(self) -> int:
        """Of the training classes in the search; as many runs make up a trial."""
        return self.data.conditions.folds or FOLDS
