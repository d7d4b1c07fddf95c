"""Averages per-step scalars over short windows, so that a run's database stays small."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from trainers.runs import RunFolder
from trainers.runs.records import Scalar

WINDOW_SECONDS = 0.5


class ScalarBuffer:
    """Collects scalars and writes their means at most twice a second."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._sums: dict[tuple[int, str], list[float | Tensor]] = defaultdict(list)
        self._at = (0, 0.0)
        self._ready: list[Scalar] = []
        self._written = time.monotonic()

    def add(self, arm: int, step: int, seconds: float, values: Mapping[str, float | Tensor]) -> None:
        """Add one step's values; they are averaged over a short window, the same steps for all arms.

        Values on a device are detached scalars; they are read when they are written.
        """
        if step != self._at[0] and time.monotonic() - self._written > WINDOW_SECONDS:
            self.flush()
        self._at = (step, seconds)
        for key, value in values.items():
            self._sums[arm, key].append(value)

    def now(self, arm: int, step: int, seconds: float, values: Mapping[str, float]) -> None:
        """Add values that are not averaged; written with the next flush."""
        self._ready += [Scalar(arm=arm, step=step, seconds=seconds, key=k, value=v) for k, v in values.items()]

    def write_at_start(self, arms: int, values: Mapping[str, float]) -> None:
        """Write the same values for every arm at step 0, at once."""
        for arm in range(arms):
            self.now(arm, 0, 0.0, values)
        self.flush()

    def flush(self) -> None:
        """Write everything."""
        step, seconds = self._at
        means = [
            Scalar(arm=arm, step=step, seconds=seconds, key=key, value=_mean(values))
            for (arm, key), values in self._sums.items()
        ]
        if means or self._ready:
            self._folder.db.add_metrics(means + self._ready)
        self._sums.clear()
        self._ready.clear()
        self._written = time.monotonic()


def _mean(values: Sequence[float | Tensor]) -> float:
    """Return the mean, read from a device once for all values."""
    numbers = torch.stack(values).tolist() if isinstance(values[0], Tensor) else values  # type: ignore[arg-type]
    return sum(numbers) / len(numbers)
