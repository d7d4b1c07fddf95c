"""Embeddings that have collapsed: images that share one cannot be told apart, and their results are ties."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from trainers.config import Config
from trainers.data.lru_cache import Cache
from trainers.kinds import diagnoses
from trainers.runs.reader import RunReader
from trainers.runs.regular import is_regular

MANY = 0.5
"""Share of images with the embedding of another one from which on it is said."""
_SPREAD = 1e-6  # of the cosine with the mean; that of one embedding stored in 16 bits is about 1e-7
_NOTHING: tuple[int, ...] = ()
_counted: Cache[tuple[int, ...]] = Cache(limit=1024)


def equal_images(embeddings: np.ndarray) -> int:
    """Count the images whose embedding is that of another image, to within rounding: 0 to P.

    Args:
        embeddings: float ``[P, D]``, raw. Those that are not all finite are equal to none.
    """
    if len(embeddings) < 2 or not np.isfinite(embeddings).all():
        return 0
    unit = functional.normalize(torch.from_numpy(embeddings.astype(np.float64)), dim=1, eps=1e-12)
    mean = functional.normalize(unit.mean(dim=0), dim=0, eps=1e-12)
    if not unit.any() or float((unit @ mean).min()) >= 1 - _SPREAD:
        return len(embeddings)
    _, inverse, counts = np.unique(unit.half().numpy(), axis=0, return_inverse=True, return_counts=True)
    return int((counts[inverse.ravel()] > 1).sum())


def equal_by_arm(folder: RunReader, k: int) -> tuple[int, ...]:
    """Return :func:`equal_images` of each arm at snapshot ``k``; empty: its embeddings are not kept.

    Raises:
        RunError: they are damaged.
    """
    path = folder.embeddings_path(k)
    if not is_regular(path):
        return _NOTHING
    key = (path, path.stat().st_mtime_ns)
    return _counted.get(key, lambda: tuple(equal_images(arm) for arm in folder.embeddings(k)))


def sentence(equal: int, images: int) -> str:
    """Say that embeddings have collapsed; empty where they have not.

    Args:
        equal: of :func:`equal_images`; images: P.
    """
    if images < 2 or equal < MANY * images:
        return ""
    which = (
        f"The embeddings have collapsed: all {images:,} images on the map have the same one"
        if equal == images
        else f"{equal:,} of the {images:,} images on the map have the same embedding as another one"
    )
    return f"{which}. Of equally similar results the less related count first, in numbers and in lists."


def diagnosed(config: Config, folder: RunReader) -> list[list[str]]:
    """Return for every arm of a run what :func:`trainers.kinds.diagnoses` says, and first whether it has collapsed."""
    said = diagnoses(config, folder)
    stored = folder.snapshots() if said else []
    equal = equal_by_arm(folder, stored[-1][0]) if stored else _NOTHING
    probe = folder.probe() if any(equal) else None
    if probe is None or len(equal) != len(said):
        return said
    first = [sentence(count, len(probe.labels)) for count in equal]
    return [[collapsed, *others] if collapsed else others for collapsed, others in zip(first, said, strict=True)]
