"""Trials on a GPU: what is tried, what failed, how far numbers are apart, and whether the host waits."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from tests.programs import Tally, say
from trainers.metrics import checks


@dataclass(kw_only=True)
class Trial:
    """The campaign's device, table and figures.

    Attributes:
        place: an empty folder.
        figures: the largest error of each kind, and whatever else was measured.
    """

    device: torch.device
    place: Path
    tally: Tally = field(default_factory=lambda: Tally(name="cuda", head="tried on the GPU"))
    figures: dict[str, object] = field(default_factory=dict)

    @contextmanager
    def of(self, kind: str, what: str) -> Iterator[list[str]]:
        """One trial, whose failures are put in the list; an exception is one."""
        failures: list[str] = []
        try:
            yield failures
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            failures.append(f"{type(error).__name__}: {error} ({where.filename}, line {where.lineno})")
        self.tally.note(kind, [f"{what}: {'; '.join(failures)}"] if failures else [])
        if failures:
            say(f"FAILED {kind}, {what}: {'; '.join(failures)}")

    def error(self, kind: str, got: float, most: float, failures: list[str]) -> None:
        """Keep the largest error of a kind, and refuse one that is too large or no number."""
        name = f"largest error: {kind}"
        self.figures[name] = max(got, float(self.figures.get(name, 0.0)))  # type: ignore[arg-type]
        if not got <= most:
            failures.append(f"{kind}: {got:.3g}, at most {most:g} is right")

    @contextmanager
    def unwaited(self) -> Iterator[None]:
        """Within it, an operation for which the host waits for the GPU raises; reading a metric's table does not."""
        if self.device.type == "cpu":
            yield
            return

        def read(numbers: Tensor) -> np.ndarray:
            torch.cuda.set_sync_debug_mode("default")
            table = numbers.cpu().numpy()
            torch.cuda.set_sync_debug_mode("error")
            return table

        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            with mock.patch.object(checks, "read", read):
                yield
        finally:
            torch.cuda.set_sync_debug_mode("default")


def away(got: Tensor, want: Tensor) -> float:
    """How far tensors are apart, relative to the length of the second or, if that is small, to 1e-3."""
    expected = want.detach().double()
    return float((got.detach().cpu().double() - expected).norm() / expected.norm().clamp(min=1e-3))
