"""``test_queries.safetensors``: the metrics of every query as tensors, what they are about as JSON in the metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from trainers.runs import checked
from trainers.runs.files import as_tensor
from trainers.runs.records import QueryScores

if TYPE_CHECKING:
    from torch import Tensor

MOST = 200_000
"""Queries that are kept: with ten metrics, 8 MB an arm."""


def kept_queries(count: int) -> np.ndarray:
    """Return rows of the queries that are kept of a test set of ``count`` images: all, or :data:`MOST` drawn at random.

    Returns:
        int64 ``[Q]``, ascending; the same for the same count.
    """
    if count <= MOST:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST, replace=False))


def packed_scores(scores: QueryScores) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Pack a record into tensors and metadata."""
    about = {"metrics": scores.metrics, "images": scores.images, "fingerprint": scores.fingerprint}
    tensors = {
        "values": as_tensor(scores.values, np.float32),
        "labels": as_tensor(scores.labels, np.int32),
        "rows": as_tensor(scores.rows, np.int64),
    }
    return tensors, {"about": json.dumps(about)}


def unpacked_scores(tensors: Mapping[str, Tensor], metadata: Mapping[str, str], arms: int) -> QueryScores:
    """Unpack the record that :func:`packed_scores` was given.

    Raises:
        ValueError, KeyError: something is missing, or of the wrong type or shape.
    """
    about = checked.json_object(metadata["about"], "results per query")
    scores = QueryScores(
        metrics=checked.texts(about["metrics"], "metrics"),
        values=tensors["values"].numpy(),
        labels=tensors["labels"].numpy(),
        rows=tensors["rows"].numpy(),
        images=checked.whole(about["images"], "images"),
        fingerprint=checked.text(about["fingerprint"], "fingerprint"),
    )
    _check(scores, arms)
    return scores


def _check(scores: QueryScores, arms: int) -> None:
    count, metrics = scores.rows.size, len(scores.metrics)
    if scores.values.dtype != np.float32 or scores.labels.dtype != np.int32 or scores.rows.dtype != np.int64:
        raise ValueError("the results per query are of the wrong type")
    shapes = (scores.values.shape, scores.labels.shape, scores.rows.shape)
    if shapes != ((arms, metrics, count), (count,), (count,)) or len(set(scores.metrics)) != metrics:
        raise ValueError("the results per query have the wrong shape")
    if count and (scores.rows[0] < 0 or scores.rows[-1] >= scores.images or (np.diff(scores.rows) <= 0).any()):
        raise ValueError("the results per query are not of rows of the test set")
