"""A made-up run folder: Gaussian clusters that draw together as training goes on, written through the real store."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from trainers.config import DataChoice
from trainers.hierarchy import Hierarchy
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.runs.records import Frame, FrameArm, Probe, RunState, Scalar, Snapshot

AISLES, KINDS, PRODUCTS = 3, 2, 4  # aisles, kinds per aisle, products per kind
DIM, NEIGHBOURS, TILE, COLUMNS, LIMIT = 16, 20, 32, 12, 10.0
STEPS_PER_FRAME = 25
LOSSES = ("smooth_ap", "happier", "supcon", "proxy_anchor")
WITH_PROBE = frozenset({"running", "paused", "stopped", "finished", "failed", "interrupted", "between slices"})


def make_run(
    root: Path,
    points: int = 600,
    frames: int = 8,
    arms: int = 2,
    seed: int = 0,
    phase: str = "finished",
    layout: bool = True,
) -> RunFolder:
    """Write a run of ``arms`` losses with ``points`` probe images and ``frames`` snapshots under ``root``.

    ``queued`` and ``starting`` runs have no probe, as in life. ``layout=False`` leaves out the maps. A run in an active
    phase reads as ``interrupted`` unless its lock is held: see :func:`alive`.
    """
    losses = tuple(Choice(name=name) for name in LOSSES[:arms])
    folder = RunFolder.create(
        root, MetricLearningConfig(data=DataChoice(), losses=losses, seed=seed, probe_size=points)
    )
    if phase in WITH_PROBE:
        write_probe(folder, points)
        for k in range(frames):
            add_snapshot(folder, k, of=frames, layout=layout)
    done = frames * STEPS_PER_FRAME if phase in WITH_PROBE else 0
    planned = max(frames, 1) * STEPS_PER_FRAME
    error = "The loss became infinite at step 7; lower the learning rate." if phase == "failed" else None
    folder.db.set_state(
        RunState(phase=phase, step=done, seconds=done * 0.05, planned_steps=planned, message="made up", error=error)
    )
    return folder


@contextlib.contextmanager
def alive(folder: RunFolder) -> Iterator[RunFolder]:
    """Hold the run's lock, as its trainer would."""
    lock = RunLock(folder.path)
    assert lock.acquire(), "another process holds the run"
    try:
        yield folder
    finally:
        lock.release()


def hierarchy() -> Hierarchy:
    """Products in kinds in aisles."""
    kinds, products = AISLES * KINDS, AISLES * KINDS * PRODUCTS
    return Hierarchy(
        levels=("product", "kind", "aisle"),
        names=(
            tuple(f"product {i}" for i in range(products)),
            tuple(f"kind {i}" for i in range(kinds)),
            tuple(f"aisle {i}" for i in range(AISLES)),
        ),
    )


def labels_of(points: int) -> np.ndarray:
    """Int32 ``[P, 3]``, finest first; classes take turns."""
    product = np.arange(points) % (AISLES * KINDS * PRODUCTS)
    kind = product // PRODUCTS
    return np.stack([product, kind, kind // KINDS], axis=1).astype(np.int32)


def write_probe(folder: RunFolder, points: int) -> None:
    """Store labels, hierarchy and drawn thumbnails."""
    labels = labels_of(points)
    probe = Probe(
        labels=labels,
        rows=np.arange(points),
        hierarchy=hierarchy(),
        data_title="Made-up world",
        notes=("Everything here is made up.",),
        tile=TILE,
        columns=COLUMNS,
    )
    per_sheet = COLUMNS**2
    sheets = (_sheet(labels[start : start + per_sheet]) for start in range(0, points, per_sheet))
    folder.write_probe(probe, sheets)


def embeddings_at(folder: RunFolder, progress: float, arm: int) -> np.ndarray:
    """Unit float32 ``[P, D]``: from noise at ``progress`` 0 to tight clusters at 1."""
    probe = folder.probe()
    assert probe is not None
    seed = folder.config.seed
    rng = np.random.default_rng(seed)
    sizes = [len(level) for level in probe.hierarchy.names]
    centres = [rng.normal(size=(size, DIM)) for size in sizes]
    weights = (0.6, 0.9, 1.2 if arm == 0 else 1.6)
    clean = sum(w * c[probe.labels[:, level]] for level, (w, c) in enumerate(zip(weights, centres, strict=True)))
    noise = np.random.default_rng(seed + 1).normal(size=(len(probe.labels), DIM))
    mixed = clean * progress + noise * (2.0 - 1.6 * progress)
    return (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)


def add_snapshot(folder: RunFolder, k: int, of: int = 8, layout: bool = True) -> None:
    """Append snapshot ``k`` of ``of``, its scalars and, with ``layout``, its frame."""
    progress, step, seconds = (k / max(of - 1, 1)), k * STEPS_PER_FRAME, k * STEPS_PER_FRAME * 0.05
    count = len(folder.config.losses)
    arms = tuple(embeddings_at(folder, progress, arm) for arm in range(count))
    folder.add_snapshot(Snapshot(k=k, step=step, seconds=seconds, embeddings=arms))
    for arm in range(count):
        folder.db.add_metrics(_scalars(arm, step, seconds, progress))
    if layout:
        frame_arms = tuple(map_of(vectors, k) for vectors in arms)
        folder.add_frame(Frame(k=k, step=step, seconds=seconds, limit=LIMIT, arms=frame_arms))


def diverge(folder: RunFolder, arm: int, first: int) -> None:
    """Make the embeddings of an arm NaN from snapshot ``first`` on, and its maps those of points without places."""
    for k, step, seconds in folder.snapshots():
        if k < first:
            continue
        arms = [embedding.astype(np.float32) for embedding in folder.embeddings(k)]
        arms[arm] = np.full_like(arms[arm], np.nan)
        folder.add_snapshot(Snapshot(k=k, step=step, seconds=seconds, embeddings=tuple(arms)))
        if k in folder.frames():
            frame = folder.frame(k)
            maps = list(frame.arms)
            maps[arm] = map_of(np.zeros_like(arms[arm]), k)
            folder.add_frame(dataclasses.replace(frame, arms=tuple(maps)))


def _scalars(arm: int, step: int, seconds: float, progress: float) -> list[Scalar]:
    rise = progress * (0.8 + 0.05 * arm)
    values = {
        "loss": 1.0 - 0.8 * progress,
        "term/ranking": 0.7 - 0.6 * progress,
        "term/cluster": 0.3 - 0.2 * progress,
        "train_R_at_1": 0.15 + rise,
        "R_at_1": 0.1 + rise,
        "AP_at_R": 0.05 + 0.8 * rise,
        "HAP": 0.2 + 0.8 * rise,
        "NDCG": 0.4 + 0.6 * rise,
        "ASI": 0.3 + 0.6 * rise,
        "AP_level0": 0.05 + 0.8 * rise,
        "AP_level1": 0.1 + 0.8 * rise,
        "AP_level2": 0.2 + 0.8 * rise,
        "images_per_s": 900.0 + 10 * math.sin(step),
    }
    if progress == 1.0:
        values |= {f"test/{key}": values[key] - 0.02 for key in ("R_at_1", "AP_at_R", "HAP", "NDCG", "ASI")}
    shares = {key: value if key == "images_per_s" else min(value, 1.0) for key, value in values.items()}
    return [Scalar(arm=arm, step=step, seconds=seconds, key=key, value=value) for key, value in shares.items()]


def map_of(vectors: np.ndarray, k: int) -> FrameArm:
    """A linear picture on fixed axes, with exact neighbours in the full space."""
    axes = np.random.default_rng(7).normal(size=(vectors.shape[1], 2))
    xy = vectors @ axes * (LIMIT / 3)
    coordinates = np.clip((xy / LIMIT + 1) / 2 * 65535, 0, 65535).astype(np.uint16)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    count = min(NEIGHBOURS, len(vectors) - 1)
    nearest = np.argpartition(-similarity, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(similarity, nearest, axis=1), axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, axis=1).astype(np.int32)
    return FrameArm(xy=coordinates, neighbours=nearest, quality=0.3, drift=0.5 / (k + 1), method="pca")


def add_maps(folder: RunFolder) -> RunFolder:
    """Draw the snapshots of a run that was really trained."""
    for k, step, seconds in folder.snapshots():
        arms = tuple(map_of(vectors.astype(np.float32), k) for vectors in folder.embeddings(k))
        folder.add_frame(Frame(k=k, step=step, seconds=seconds, limit=LIMIT, arms=arms))
    return folder


def _sheet(labels: np.ndarray) -> bytes:
    """One WebP sheet: colour by aisle, shape by kind, size by product."""
    image = Image.new("RGB", (COLUMNS * TILE, COLUMNS * TILE), "white")
    draw = ImageDraw.Draw(image)
    colours = ("#0072b2", "#d55e00", "#009e73")
    for tile, (product, kind, aisle) in enumerate(labels):
        x, y = tile % COLUMNS * TILE, tile // COLUMNS * TILE
        margin = 4 + 2 * (int(product) % PRODUCTS)
        box = (x + margin, y + margin, x + TILE - margin, y + TILE - margin)
        shape = draw.ellipse if kind % KINDS == 0 else draw.rectangle
        shape(box, fill=colours[int(aisle)])
    out = io.BytesIO()
    image.save(out, "WEBP", quality=80)
    return out.getvalue()
