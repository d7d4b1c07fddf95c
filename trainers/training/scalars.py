"""Averages scalars over windows of steps, so that a run's database stays small and equal runs log equal curves."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from trainers.progress import interval
from trainers.runs import RunFolder
from trainers.runs.records import Scalar

WRITE_SECONDS = interval(0.5)
_SINGLE = 7  # windows have one step up to step 2 ** 7; from then on each doubling of the step has half as many windows
_POINTS = 500  # a longest window is about the planned steps over this; with the short ones before, about 1,000 in all


def ends_window(step: int, planned: int | None) -> bool:
    """Return whether a window of averaged steps ends with a step.

    Windows follow from the steps alone, never from the clock: they have 1, 2, 4, ... steps, and grow with the step up
    to a length for the planned steps. Early points come soon, and there are about 1,000 in all.

    Args:
        step: of its stage, from 1.
        planned: steps of its stage; None: minutes are the only limit, and windows go on growing.
    """
    length: int = 1 << max(0, (step - 1).bit_length() - _SINGLE)
    if planned is not None:
        length = min(length, 1 << ((planned - 1) // _POINTS).bit_length())
    return step % length == 0


@dataclass
class _Mean:
    """A mean of values added one by one; the sum does not depend on when values are read from a device."""

    total: float = 0.0
    count: int = 0
    unread: list[Tensor] = field(default_factory=list)

    def add(self, value: float | Tensor) -> None:
        if isinstance(value, Tensor):
            self.unread.append(value)
        else:
            self._add(value)

    def read(self) -> None:
        """Read what is on a device, once for all values."""
        if self.unread:
            for number in torch.stack(self.unread).tolist():
                self._add(number)
            self.unread.clear()

    @property
    def value(self) -> float:
        return self.total / self.count

    def _add(self, number: float) -> None:
        self.total += number
        self.count += 1


_Means = dict[tuple[int, str], _Mean]


class ScalarBuffer:
    """Collects scalars, averages them over windows of steps and writes the means at most twice a second."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._window: _Means = {}
        self._at = (0, 0.0)
        self._ended: list[tuple[int, float, _Means]] = []
        self._ready: list[Scalar] = []
        self._written = time.monotonic()

    def add(self, arm: int, step: int, seconds: float, values: Mapping[str, float | Tensor]) -> None:
        """Add one step's values to the window; those on a device are detached, and read when something is written."""
        self._at = (step, seconds)
        for key, value in values.items():
            self._window.setdefault((arm, key), _Mean()).add(value)

    def end_window(self) -> None:
        """End the window, if it holds anything, after a step of every arm; its means are written within half a second
        of training.
        """
        if self._window:
            self._ended.append((*self._at, self._window))
            self._window = {}
        if time.monotonic() - self._written > WRITE_SECONDS:
            self.flush()

    def now(self, arm: int, step: int, seconds: float, values: Mapping[str, float]) -> None:
        """Add values that are not averaged; written with the next flush."""
        self._ready += [Scalar(arm=arm, step=step, seconds=seconds, key=k, value=v) for k, v in values.items()]

    def write_at_start(self, arms: int, values: Mapping[str, float]) -> None:
        """Write the same values for every arm at step 0, at once."""
        for arm in range(arms):
            self.now(arm, 0, 0.0, values)
        self.flush()

    def flush(self) -> None:
        """Write the means of the windows that have ended, and what is not averaged."""
        means = []
        for step, seconds, window in self._ended:
            for (arm, key), mean in window.items():
                mean.read()
                means.append(Scalar(arm=arm, step=step, seconds=seconds, key=key, value=mean.value))
        for mean in self._window.values():
            mean.read()
        if means or self._ready:
            self._folder.db.add_metrics(means + self._ready)
        self._ended.clear()
        self._ready.clear()
        self._written = time.monotonic()

    def state(self) -> list[tuple[int, str, str, int]]:
        """Return the window that has not ended, for a checkpoint: arm, key, sum as text (it may be NaN), count."""
        self.flush()
        return [(arm, key, repr(mean.total), mean.count) for (arm, key), mean in self._window.items()]

    def load(self, step: int, seconds: float, state: Iterable[tuple[int, str, str, int]]) -> None:
        """Go on with the window that :meth:`state` returned at ``step``."""
        self._at = (step, seconds)
        self._window = {(arm, key): _Mean(float(total), count) for arm, key, total, count in state}
