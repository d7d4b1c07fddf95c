"""The embeddings of the probe that a run keeps with its frames."""

from __future__ import annotations

import numpy as np

from trainers.data import cache
from trainers.errors import RunError
from trainers.retrieval.encoders import images_of
from trainers.retrieval.galleries.base import Gallery, origin
from trainers.retrieval.vectors import Vectors
from trainers.runs import RunFolder


def stored_vectors(folder: RunFolder, arm: int, gallery: Gallery, step: int | None) -> tuple[Vectors, int] | None:
    """Return the stored embeddings of a gallery's images, and their step; None: the run keeps none of these images.

    Args:
        step: the newest that are not later are taken, or the first ones; None: the newest.

    Raises:
        RunError: they are damaged or not finite.
    """
    probe = folder.probe()
    images = images_of(folder)
    if probe is None or gallery.origin != origin(images, probe.part) or not np.array_equal(probe.rows, gallery.rows):
        return None
    there = [(k, at) for k, at, _ in folder.snapshots() if folder.embeddings_path(k).is_file()]
    if not there:
        return None
    earlier = there if step is None else [snapshot for snapshot in there if snapshot[1] <= step] or there[:1]
    k, at = earlier[-1]
    rows = folder.embeddings(k)[arm]
    if len(rows) != len(gallery) or not np.isfinite(rows).all():
        raise RunError(f"The embeddings of run {folder.id} at step {at} are no finite numbers: its training diverged.")
    length = np.linalg.norm(rows.astype(np.float32), axis=1, keepdims=True)
    unit = rows.astype(np.float32) / np.where(length > 0, length, 1)
    return Vectors(rows=unit, key=cache.content_key((unit.shape, unit.tobytes()))), at
