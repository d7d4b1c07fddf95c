"""Embeddings of classes that come apart as training goes on, and runs that hold them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from explorer.layout.warm import Warmth
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs import RunFolder
from trainers.runs.records import Snapshot


class Always(Warmth):
    """Warmth that is decided from the start, or never."""

    def __init__(self, method: str | None) -> None:
        super().__init__()
        self._failed = method == "pca"
        if method is not None:
            self._done.set()


def clusters(order: float, *, points: int = 300, classes: int = 10, dim: int = 32, seed: int = 0) -> np.ndarray:
    """Float16 unit rows ``[points, dim]``; row i is of class ``i % classes``. ``order`` 0: noise, 1: tight classes."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(classes, dim))
    noise = random.normal(size=(points, dim))
    rows = centres[np.arange(points) % classes] * order * 3 + noise
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def snapshot(k: int, *embeddings: np.ndarray) -> Snapshot:
    """Snapshot ``k``, ten steps and two seconds after the one before."""
    return Snapshot(k=k, step=10 * k, seconds=2.0 * k, embeddings=embeddings)


def make_run(root: Path, snapshots: int, *, phase: str = "finished", points: int = 60, arms: int = 2) -> RunFolder:
    """A run without frames."""
    folder = RunFolder.create(root, MetricLearningConfig())
    set_phase(folder, phase)
    extend(folder, 0, snapshots, points=points, arms=arms)
    return folder


def extend(folder: RunFolder, start: int, stop: int, *, points: int = 60, arms: int = 2) -> None:
    """Add snapshots ``start .. stop - 1``."""
    for k in range(start, stop):
        first = clusters(min(k / 10, 1), points=points)
        folder.add_snapshot(snapshot(k, *[first] * arms))


def set_phase(folder: RunFolder, phase: str) -> None:
    """Change the phase of a run."""
    folder.db.set_state(dataclasses.replace(folder.db.state(), phase=phase))
