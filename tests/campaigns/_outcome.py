"""What a run came to, and how another of the same configuration differs from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import torch

from trainers.plans.children import Children
from trainers.runs import RunFolder

Made = TypeVar("Made")
STEADY = (
    *("R_at_", "AP_", "HAP", "NDCG", "ASI", "train_R_at_", "test/", "floor_", "queries_"),
    *("knn", "probe", "queue_"),
)
"""Beginnings of the numbers that do not depend on time: at the start, at every snapshot and at the end."""


class Outcome:
    """Weights, numbers and snapshots of a finished run.

    Args:
        folder: of the run.

    Raises:
        RuntimeError: it has not finished.
    """

    def __init__(self, folder: RunFolder) -> None:
        state = folder.state()
        if state.phase != "finished":
            raise RuntimeError(f"the uninterrupted run is {state.phase}: {state.error}")
        self.step = state.step
        self.weights = weights(folder)
        self.numbers = numbers(folder)
        self.snapshots = folder.snapshots()

    def differences(self, folder: RunFolder) -> list[str]:
        """Sentences on whatever is other than here."""
        state = folder.state()
        if state.phase != "finished" or state.step != self.step:
            return [f"it is {state.phase} at step {state.step} ({state.error or state.message})"]
        said = self._of_weights(weights(folder)) + self._of_numbers(folder)
        if [k for k, _, _ in folder.snapshots()] != [k for k, _, _ in self.snapshots]:
            said.append("its snapshots are others")
        left = [path.name for path in folder.path.rglob("*") if path.suffix == ".tmp" or path.name.startswith(".")]
        if left:
            said.append(f"{len(left)} temporary files are left")
        return said

    def _of_weights(self, got: dict[str, torch.Tensor]) -> list[str]:
        other = [name for name in self.weights if name not in got or not torch.equal(got[name], self.weights[name])]
        if not other and set(got) == set(self.weights):
            return []
        return [f"{len(other)} tensors differ, {other[0] if other else 'and there are others'}"]

    def _of_numbers(self, folder: RunFolder) -> list[str]:
        rows = Counter((scalar.arm, scalar.step, scalar.key) for scalar in folder.scalars())
        got = numbers(folder)
        kinds = {
            "numbers have two rows": [row for row, count in rows.items() if count > 1],
            "numbers are missing": [row for row in self.numbers if row not in got],
            "numbers differ": [row for row in self.numbers if row in got and got[row] != self.numbers[row]],
        }
        return [f"{len(kind)} {what}, {kind[0]} among them" for what, kind in kinds.items() if kind]


class PlanOutcome:
    """What the runs of a finished plan came to.

    Args:
        folder: of the plan.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._runs = _each(folder, Outcome)

    def differences(self, folder: RunFolder) -> list[str]:
        """Sentences on whatever is other than here; every run has to be there once."""
        state = folder.state()
        if state.phase != "finished":
            return [f"it is {state.phase} ({state.error or state.message})"]
        got = _each(folder, lambda run: run)
        if sorted(got) != sorted(self._runs):
            return [f"it has the runs {sorted(got)}, not {sorted(self._runs)}"]
        said = [f"{name}: {why}" for name, run in got.items() for why in self._runs[name].differences(run)]
        for run in got.values():
            run.db.close()
        others = [path.name for path in folder.path.parent.iterdir() if path.name.startswith(".")]
        return said + [f"{name} is left beside it" for name in others]


def _each(plan: RunFolder, what: Callable[[RunFolder], Made]) -> dict[str, Made]:
    """``what`` of the folder of every run of a plan, by the name of its place."""
    return {child.planned.name: what(RunFolder(plan.path.parent / child.id)) for child in Children(plan).all()}


def weights(folder: RunFolder) -> dict[str, torch.Tensor]:
    """Everything in the last checkpoint."""
    checkpoint = folder.read_checkpoint()
    return {} if checkpoint is None else checkpoint[0]


def numbers(folder: RunFolder) -> dict[tuple[int, int, str], float]:
    """Those of :data:`STEADY`, by arm, step and name."""
    return {(s.arm, s.step, s.key): s.value for s in folder.scalars() if _is_steady(s.key)}


def _is_steady(key: str) -> bool:
    return key.startswith(STEADY) and not key.endswith("_seconds")
