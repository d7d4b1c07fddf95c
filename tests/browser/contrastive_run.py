"""A finished contrastive run on real images, trained in seconds, with linear maps."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from tests.tiny import tiny_contrastive, write_images
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.records import Frame, FrameArm
from trainers.worker import Worker

LIMIT, NEIGHBOURS = 2.0, 10


def trained(root: Path, *methods: Choice, **changes: object) -> RunFolder:
    """Train ``methods`` on 96 images of eight classes under ``root`` and draw the maps; changes are of the settings."""
    images = root / "images"
    if not images.exists():
        write_images(root / "made", train=8, test=1, each=12)
        shutil.move(root / "made" / "train", images)
    few = {"batch": 16, "steps": 12, "head_steps": 8, "snapshot_steps": 4}
    folder = RunFolder.create(root / "runs", tiny_contrastive(images, *methods, **(few | changes)))
    state = Worker(folder, lambda _state: None).run()
    assert state.phase == "finished", state.error
    for k, step, seconds in folder.snapshots():
        arms = tuple(_map(vectors.astype(np.float32)) for vectors in folder.embeddings(k))
        folder.add_frame(Frame(k=k, step=step, seconds=seconds, limit=LIMIT, arms=arms))
    folder.db.close()
    return folder


def _map(vectors: np.ndarray) -> FrameArm:
    axes = np.random.default_rng(7).normal(size=(vectors.shape[1], 2))
    xy = np.clip((vectors @ axes / LIMIT + 1) / 2 * 65535, 0, 65535).astype(np.uint16)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, : min(NEIGHBOURS, len(vectors) - 1)].astype(np.int32)
    return FrameArm(xy=xy, neighbours=nearest, quality=0.5, drift=0.1, method="pca")
