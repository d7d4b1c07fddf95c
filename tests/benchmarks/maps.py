"""What maps of many points cost and keep: python -m tests.benchmarks.maps [--points 1500 20000 50000]

For each number of points, one frame that follows another of an embedding that moves: processor seconds of the frame and
of its parts (neighbours by comparing all pairs, and followed from those of the frame before, UMAP step, noise floor,
neighbours kept, label measures of two levels, agreement of moves), of a refined map, and what the maps keep. The
embedding is made up: unit rows of 128 dimensions in classes of about 20 images, ten classes to a family. All in one
thread, as in the map process.

    python -m tests.benchmarks.maps --thresholds

prints label trustworthiness and continuity of the recorded runs' last maps beside maps made to mislead: classes pulled
together on the map, and points put into each other's places.

    python -m tests.benchmarks.maps --floors

prints how far points of the recorded runs' last embeddings move when nothing changes but the random numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explorer.layout.environment import environment

for _key, _value in environment().items():
    os.environ.setdefault(_key, _value)

# ruff: noqa: E402  what follows reads the environment when it is imported
import numpy as np

from explorer.layout.align import procrustes
from explorer.layout.effort import CALM, MOVING, TURNED, noise_floor
from explorer.layout.frames import STORED_NEIGHBOURS, Layouter
from explorer.layout.labels import LabelPairs
from explorer.layout.local_join import follow
from explorer.layout.measuring import Measurer, Moved
from explorer.layout.neighbours import MANY, map_neighbours, unit_rows
from explorer.layout.quality import kept_neighbours
from explorer.layout.umap_step import step, warm_up
from tests.programs import arguments, markdown
from trainers.metrics.catalogue import maps
from trainers.runs import RunFolder, list_runs
from trainers.runs.maps import unpack
from trainers.runs.records import Snapshot

DIM, IMAGES, FAMILY = 128, 20, 10


def embeddings(points: int, order: float) -> tuple[np.ndarray, np.ndarray]:
    """Float16 unit rows ``[points, DIM]`` and labels ``[points, 2]``; ``order`` 0: noise, 1: tight classes."""
    rng = np.random.default_rng(0)
    classes = max(points // IMAGES, 4)
    fine = np.arange(points) % classes
    centres = rng.normal(size=(classes // FAMILY + 1, DIM))[np.arange(classes) // FAMILY] + rng.normal(
        size=(classes, DIM)
    )
    rows = order * 2 * centres[fine] + rng.normal(size=(points, DIM))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit.astype(np.float16), np.stack([fine, fine // FAMILY], axis=1).astype(np.int32)


def measure(points: int) -> tuple[dict[str, float], dict[str, float]]:
    """Processor seconds of the parts, and what the last map keeps."""
    parts: dict[str, float] = {}

    def clock(name: str, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        result = work()
        parts[name] = time.process_time() - begun
        return result

    (before, labels), (after, _) = embeddings(points, 0.30), embeddings(points, 0.35)
    measurer = clock("classes drawn", lambda: Measurer(labels))
    layouter = Layouter(measurer=measurer)
    first = clock("first frame", lambda: layouter.next(Snapshot(k=0, step=0, seconds=0.0, embeddings=(before,))))
    now = Snapshot(k=1, step=1, seconds=1.0, embeddings=(after,))
    second = clock("next frame", lambda: layouter.next(now))
    better = clock("refined map", lambda: layouter.refine(second, now))
    xy = [unpack(frame.arms[0].xy, frame.limit) for frame in (first, second, better)]
    near = clock("all pairs", lambda: map_neighbours(after, STORED_NEIGHBOURS))
    if points > MANY:
        clock("neighbours followed", lambda: follow(after, first.arms[0].neighbours, STORED_NEIGHBOURS, 1))
    clock("UMAP step", lambda: step(near, xy[0], epochs=MOVING.epochs, alpha=MOVING.alpha, seed=1))
    clock("noise floor", lambda: noise_floor(near, xy[1], MOVING, 2))
    clock("neighbours kept", lambda: kept_neighbours(xy[1], near.ids))
    clock("label measures", lambda: measurer.labels(after, xy[1]))
    moved = Moved(xy=xy[1], before=xy[0], embeddings=after, embeddings_before=before)
    clock("agreement", lambda: measurer.agreement(moved))
    arm, refined = second.arms[0], better.arms[0]
    names = (maps.at_level(maps.TRUSTWORTHINESS, 0), maps.at_level(maps.CONTINUITY, 0))
    values = {"kept": arm.quality, "label T": arm.measures[names[0]], "label C": arm.measures[names[1]]}
    values |= {"agreement": arm.measures[maps.AGREEMENT], "noise floor": arm.measures[maps.NOISE_FLOOR]}
    if maps.RECALL in arm.measures:
        values |= {"recall": arm.measures[maps.RECALL], "kept, all points": kept_neighbours(xy[1], near.ids)}
    values |= {f"kept after {refined.measures[maps.EPOCHS]:.0f} more epochs": refined.quality}
    return parts, values


def drawn(recorded: Path) -> list[RunFolder]:
    """The recorded runs that have maps; plans have none."""
    return [folder for folder in list_runs(recorded, read_only=True) if folder.frames()]


def thresholds(recorded: Path) -> None:
    """Print what recorded maps and misleading ones score, level by level."""
    rng = np.random.default_rng(0)
    lines = []
    for folder in drawn(recorded):
        k, probe = folder.frames()[-1], folder.probe()
        frame = folder.frame(k)
        for i, (arm, rows) in enumerate(zip(frame.arms, folder.embeddings(k), strict=True)):
            space, xy = unit_rows(rows), unpack(arm.xy, frame.limit)
            for level, name in enumerate(probe.hierarchy.levels):
                labels = probe.labels[:, level]
                pairs = LabelPairs(labels)
                means = np.stack([xy[labels == c].mean(axis=0) for c in np.unique(labels)])
                own = means[np.searchsorted(np.unique(labels), labels)]
                mixed, taken = xy.copy(), rng.permutation(len(xy))[: len(xy) // 3]
                mixed[taken] = xy[rng.permutation(taken)]
                found = [pairs.measure(space, one) for one in (xy, own + 0.2 * (xy - own), mixed)]
                cells = [f"{one.trustworthiness:.2f}, {one.continuity:.2f}" for one in found]
                lines.append([f"{folder.id[-4:]}, {i}, {name}", *cells])
    head = ("as it is: T, C", "classes pulled together: T, C", "a third of the points exchanged: T, C")
    print(markdown(("run, arm, level", *head), lines))


def floors(recorded: Path, times: int = 8) -> None:
    """Print the noise floor of each effort on the recorded runs: mean, least and largest of repeated layouts."""
    warm_up()
    lines = []
    for folder in drawn(recorded):
        k = folder.frames()[-1]
        frame = folder.frame(k)
        for i, (arm, rows) in enumerate(zip(frame.arms, folder.embeddings(k), strict=True)):
            near, cells = map_neighbours(rows, STORED_NEIGHBOURS), []
            for effort in (CALM, MOVING, TURNED):
                xy, found = unpack(arm.xy, frame.limit), []
                for seed in range(times):
                    found.append(noise_floor(near, xy, effort, seed))
                    xy = procrustes(step(near, xy, epochs=effort.epochs, alpha=effort.alpha, seed=seed), xy)
                cells.append(f"{np.mean(found):.3f} ({min(found):.3f} to {max(found):.3f})")
            lines.append([f"{folder.id[-4:]}, {i}, {len(rows):,}", *cells])
    print(markdown(("run, arm, points", *(f"{one.epochs} epochs" for one in (CALM, MOVING, TURNED))), lines))


def main() -> None:
    """Print tables."""
    given = arguments(
        __doc__,
        points=([1500, 20000, 50000], "of the maps"),
        thresholds=(False, "label measures of recorded and of misleading maps"),
        floors=(False, "noise floor of the recorded runs"),
    )
    if given.floors:
        return floors(Path("assets") / "recorded")
    if given.thresholds:
        return thresholds(Path("assets") / "recorded")

    warm_up()
    for points in given.points:
        parts, values = measure(points)
        print(f"\n{points:,} points")
        print("  processor seconds: " + ", ".join(f"{name} {spent:.2f}" for name, spent in parts.items()))
        print("  " + ", ".join(f"{name} {value:.3f}" for name, value in values.items()), flush=True)
    return None


if __name__ == "__main__":
    main()
