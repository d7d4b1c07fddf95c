"""The results of one query in every arm: the nearest points in the full space and the severity of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from explorer.server.library import Library
from explorer.server.run import Run
from trainers.errors import RunError
from trainers.hierarchy import shared_levels
from trainers.metrics import describe, evaluate
from trainers.metrics.neighbours import Classes, nearest
from trainers.retrieval.probe_results import roles_of
from trainers.runs.records import FrameArm, Probe

RESULTS = 10
SCORES = ("AP", "HAP")  # of a query against the whole probe


def neighbours(library: Library, run: Run, k: int, index: int) -> dict[str, Any]:
    """Return the first results of query ``index`` at frame ``k``, and the query's own scores over the whole probe.

    The ids are searched among all points in the order of the metrics, the less related of equally near ones first;
    this, similarities and scores need the embeddings of ``k``. Without them the ids are those of the frame,
    similarities are None and there are no scores.
    The query itself is never among its results. Of a test of queries and a gallery results are of the gallery; where
    embeddings are not kept, they are those of the frame's nearest points that are, which may be few.

    Raises:
        RunError: no probe yet, no frame ``k`` or no point ``index``.
    """
    probe = run.probe
    if probe is None or not 0 <= index < len(probe.labels):
        count = 0 if probe is None else len(probe.labels)
        raise RunError(f"The run {run.id} has {count} points, numbered from 0; there is no point {index}.")
    frame = library.frame(run, k)
    embeddings = library.embeddings(run, k)
    roles = roles_of(probe)
    hidden = None if roles is None else roles.hidden(np.array([index]), probe.labels[:, 0])[0]
    arms = []
    for i, arm in enumerate(frame.arms):
        vectors = None if embeddings is None else embeddings[i]
        ids = _nearest(arm, vectors, index, hidden, probe)[:RESULTS]
        arms.append(
            {"ids": ids.tolist(), "shared": shared_levels(probe.labels[ids], probe.labels[index]).tolist()}
            | _scored(probe, vectors, index, ids, hidden)
        )
    return {"k": k, "index": index, "arms": arms}


def untrained_rows(run: Run, index: int) -> list[dict[str, Any]]:
    """Return the nearest points of point ``index`` without training, and how many levels each shares with it; nothing
    where the run keeps none.

    Raises:
        RunError: no probe yet, or no point ``index``.
    """
    probe, record = run.probe, run.folder.untrained()
    if probe is None or not 0 <= index < len(probe.labels):
        raise RunError(f"The run {run.id} has no point {index}.")
    rows = () if record is None else record.rows
    kept = [(row, row.neighbours[index]) for row in rows if len(row.neighbours) == len(probe.labels)]
    return [
        {
            "name": row.name,
            "title": row.title,
            "ids": ids.tolist(),
            "shared": shared_levels(probe.labels[ids], probe.labels[index]).tolist(),
        }
        for row, ids in kept
    ]


def query_scores(
    embeddings: np.ndarray, labels: np.ndarray, index: int, hidden: np.ndarray | None = None
) -> list[dict[str, Any]]:
    """Key, title and value of each of :data:`SCORES` of point ``index`` against every other; none without a positive.

    Args:
        embeddings: float32 ``[P, D]``, finite.
        labels: integers ``[P, L]``, finest first.
        hidden: bool ``[P]``, points that it is not searched among, itself one of them; None: there are none but itself.
    """
    vectors, classes = torch.from_numpy(embeddings), torch.from_numpy(labels).long()
    others = torch.arange(len(vectors)) != index if hidden is None else torch.from_numpy(~hidden)
    query = slice(index, index + 1)
    values = evaluate(vectors[query], classes[query], vectors[others], classes[others], metrics=SCORES, per_query=True)
    return [
        {"key": key, "title": describe(key).title, "value": round(float(values[key][0]), 6)}
        for key in SCORES
        if not np.isnan(values[key][0])
    ]


def _nearest(
    arm: FrameArm, vectors: np.ndarray | None, index: int, hidden: np.ndarray | None, probe: Probe
) -> np.ndarray:
    """Return the nearest points but those that are hidden and itself, in the order of the metrics."""
    hidden = np.arange(len(probe.labels)) == index if hidden is None else hidden
    if vectors is None or not np.isfinite(vectors).all():
        ids: np.ndarray = arm.neighbours[index]
        return ids[~hidden[ids]]
    rows, shown = torch.from_numpy(vectors.astype(np.float32)), np.flatnonzero(~hidden)
    asked = slice(index, index + 1)
    classes = Classes(queries=probe.labels[asked], gallery=probe.labels[shown])
    found: np.ndarray = shown[nearest(rows[asked], rows[torch.from_numpy(shown)], RESULTS, classes=classes).ids[0]]
    return found


def _scored(
    probe: Probe, embeddings: np.ndarray | None, index: int, ids: np.ndarray, hidden: np.ndarray | None
) -> dict[str, Any]:
    """Score the results; nothing is known without embeddings, or where training diverged."""
    if embeddings is None or not np.isfinite(embeddings).all():
        return {"similarity": [None] * len(ids), "scores": []}
    vectors = embeddings.astype(np.float32)
    similarity = [round(float(s), 4) for s in vectors[ids] @ vectors[index]]
    return {"similarity": similarity, "scores": query_scores(vectors, probe.labels, index, hidden)}
