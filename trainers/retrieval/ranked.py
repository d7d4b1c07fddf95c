"""The results of a query from similarities, in order or re-ranked, with its metrics over the whole gallery."""

from __future__ import annotations

import numpy as np

from trainers.hierarchy import class_path, common_ancestor, shared_levels
from trainers.metrics.scores import query_block, score_query
from trainers.parameters import Choice, entry
from trainers.retrieval.query import Asked
from trainers.retrieval.query_curves import Curves, curves_of
from trainers.retrieval.reranking import RERANKINGS
from trainers.retrieval.results import Ranking, Result, on_grid, order

SCORES = ("AP", "HAP", "NDCG")
"""Metrics of a query against the whole gallery."""


def nearest(
    similarity: np.ndarray, k: int, left_out: np.ndarray, match: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and similarities of the ``k`` largest, none of ``left_out``, in the order of
    :func:`trainers.retrieval.results.order`.
    """
    values = similarity
    if len(left_out):
        values = similarity.copy()
        values[left_out] = -np.inf
    k = min(k, len(values) - len(left_out))
    if k < 1:
        return np.zeros(0, np.int64), np.zeros(0, values.dtype)
    rounded = on_grid(values)
    rows = np.flatnonzero(rounded >= np.partition(rounded, -k)[-k])
    rows = rows[order(values[rows], rows, match)][:k]
    return rows, values[rows]


def ranking(
    asked: Asked, rows: np.ndarray, near: np.ndarray, measured: tuple[dict[str, float], Curves | None]
) -> Ranking:
    gallery, labels, classes = asked.gallery, asked.labels, asked.classes
    known = labels is not None and classes is not None
    severity = shared_levels(labels[rows], classes) if known else None  # type: ignore[index, arg-type]
    results = tuple(
        Result(
            row=int(row),
            similarity=float(near[index]),
            severity=None if severity is None else int(severity[index]),
            classes=class_path(gallery.labels[row], gallery.hierarchy) if gallery.labelled else (),
            ancestor=common_ancestor(labels[row], classes, asked.collection.hierarchy) if known else None,  # type: ignore[index, arg-type]
        )
        for index, row in enumerate(rows.tolist())
    )
    return Ranking(results=results, scores=measured[0], curves=measured[1])


def measured(
    asked: Asked, whole: np.ndarray | None, ranked: np.ndarray | None, *, curves: bool
) -> tuple[dict[str, float], Curves | None]:
    """Return scores of the query over the whole gallery, and its curves."""
    if asked.match is None or whole is None:
        return {}, None
    match, similarity = asked.match, whole
    if len(left_out := asked.left_out):  # at the end of the list as irrelevant items, which no metric notices
        match, similarity = match.copy(), whole.copy()
        match[left_out], similarity[left_out] = False, -2.0
    scores = score_query(match, SCORES, similarity=similarity, order=ranked)
    return scores, curves_of(query_block(match, similarity=similarity, order=ranked)) if curves else None


def whole_order(
    whole: np.ndarray, first: np.ndarray, left_out: np.ndarray, match: np.ndarray | None = None
) -> np.ndarray:
    """Order all rows: those that were re-ranked, then the others by similarity, then those ``left_out``."""
    values = whole.copy()
    values[first] = np.inf
    values[left_out] = -np.inf
    rest = order(values, np.arange(len(values)), match)[len(first) :]
    return np.concatenate([first, rest])


def reranked_order(choice: Choice, query: np.ndarray, candidates: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    descriptor = entry(RERANKINGS, choice.name, "re-ranking")
    parameters = descriptor.checked(choice.parameters)
    ranked: np.ndarray = descriptor.rerank(query, candidates, similarity.astype(np.float32), parameters)
    return ranked
