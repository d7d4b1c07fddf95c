"""The results of one query, in every arm: the nearest points in the full space and how bad each of them is."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.library import Library, Run
from trainers.errors import RunError
from trainers.types import Probe

RESULTS = 10


def neighbours(library: Library, run: Run, k: int, index: int) -> dict[str, Any]:
    """The first results of query ``index`` at frame ``k``, and the query's own AP and H-AP over the whole probe.

    The ids come with the frame; similarities and scores need the embeddings of ``k`` and are None where those were not
    kept. The query itself is never among its results.

    Raises:
        RunError: no probe yet, no frame ``k`` or no point ``index``.
    """
    probe = run.probe
    if probe is None or not 0 <= index < len(probe.labels):
        count = 0 if probe is None else len(probe.labels)
        raise RunError(f"The run {run.id} has {count} points, numbered from 0; there is no point {index}.")
    frame = library.frame(run, k)
    embeddings = library.embeddings(run, k)
    arms = []
    for i, arm in enumerate(frame.arms):
        ids = arm.neighbours[index][:RESULTS]
        similarity = None if embeddings is None else similarities(embeddings[i], index)
        arms.append(
            {
                "ids": ids.tolist(),
                "shared": shared_levels(probe, index, ids).tolist(),
                "similarity": [None] * len(ids) if similarity is None else _rounded(similarity[ids]),
                "AP": None,
                "HAP": None,
            }
        )
    return {"k": k, "index": index, "arms": arms}


def shared_levels(probe: Probe, index: int, ids: np.ndarray) -> np.ndarray:
    """How many label levels each of ``ids`` shares with point ``index``: 0 (unrelated) to L (same finest class)."""
    return (probe.labels[ids] == probe.labels[index]).sum(axis=1)


def similarities(embeddings: np.ndarray, index: int) -> np.ndarray:
    """Cosine of point ``index`` with every point: float32 ``[P]`` from float16 unit rows ``[P, D]``."""
    vectors = embeddings.astype(np.float32)
    return vectors @ vectors[index]


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in values]
