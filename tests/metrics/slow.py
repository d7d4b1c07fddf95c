"""The metrics' definitions as loops over one ranked list, in float64: nothing shared with the code under test."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np


def unit(rows) -> np.ndarray:
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def ranked(query: np.ndarray, label, rows: np.ndarray, labels, among: Iterable[int]) -> list[tuple[int, int]]:
    """Level shared with the query and row, best first, of unit rows; equal cosines: the less relevant, then the first.

    Args:
        among: the rows that are searched.
    """
    entries = []
    for j in among:
        level = sum(int(a == b) for a, b in zip(label, labels[j], strict=True))
        entries.append((-round(float(query @ rows[j]), 10), level, j))
    return [(level, j) for _, level, j in sorted(entries)]


def nearest(emb, labels, q: int, among: Iterable[int] | None = None) -> list[int]:
    """The rows that a query of the set finds, best first: of the others, or of those that are given."""
    rows = unit(emb)
    found = ranked(rows[q], labels[q], rows, labels, (set(range(len(rows))) - {q}) if among is None else among)
    return [j for _, j in found]


def ranked_levels(emb, labels, gallery=None, gallery_labels=None) -> list[list[int]]:
    """Levels shared with each query, best first; the query left out where there is no gallery."""
    own, labels = gallery is None, np.asarray(labels).reshape(len(emb), -1)
    x = unit(emb)
    y, others = (x, labels) if own else (unit(gallery), np.asarray(gallery_labels).reshape(len(gallery), -1))
    whole = range(len(y))
    lists = [ranked(x[q], labels[q], y, others, (j for j in whole if not own or j != q)) for q in range(len(x))]
    return [[level for level, _ in entries] for entries in lists]


def ap(hits: list[bool], cut: int | None = None) -> float:
    total = sum(hits)
    if total == 0:
        return math.nan
    limit = len(hits) if cut is None else cut
    value = seen = 0
    for rank, hit in enumerate(hits, start=1):
        seen += hit
        if hit and rank <= limit:
            value += seen / rank
    return value / (total if cut is None else min(total, cut))


def hap(levels: list[int], depth: int) -> float:
    size = {v: levels.count(v) for v in range(1, depth + 1)}
    rel = [v / depth / size[v] if v else 0.0 for v in levels]
    if sum(rel) == 0:
        return math.nan
    value = 0.0
    for i in range(len(levels)):
        value += sum(min(rel[i], rel[j]) for j in range(i + 1)) / (i + 1)
    return value / sum(rel)


def ndcg(levels: list[int], cut: int | None = None) -> float:
    def dcg(order):
        return sum((2**v - 1) / math.log2(1 + rank) for rank, v in enumerate(order[:cut], start=1))

    best = dcg(sorted(levels, reverse=True))
    return dcg(levels) / best if best else math.nan


def asi(levels: list[int], depth: int) -> float:
    ideal, total = sorted(levels, reverse=True), sum(v > 0 for v in levels)
    if total == 0:
        return math.nan
    value = 0.0
    for n in range(1, total + 1):
        common = sum(min(levels[:n].count(v), ideal[:n].count(v)) for v in range(1, depth + 1))
        value += common / n
    return value / total


def weighted_hap(levels: list[int], depth: int) -> float:
    """H-AP, pair by pair, with the relevance that makes it the weighted sum of the levels' APs (property 1)."""
    if depth not in levels:
        return math.nan
    weights = {p: p / (depth * (depth + 1) / 2) for p in range(1, depth + 1)}
    share = {p: weights[p] / sum(v >= p for v in levels) for p in weights}
    rel = [sum(share[p] for p in range(1, v + 1)) for v in levels]
    ranks = range(len(levels))
    return sum(sum(min(rel[i], rel[j]) for j in range(i + 1)) / (i + 1) for i in ranks) / sum(rel)


def level_mean(name: str, levels: list[int], depth: int) -> float:
    """The mean over levels of a metric of one level; undefined where it is at the finest."""
    return sum(score(f"{name}_level{level}", levels, depth) for level in range(depth)) / depth


DEFINED = {
    *("R_at_k", "AP", "AP_at_R", "AP_at_k", "P_at_k", "P_at_R", "true_R_at_k", "HAP", "NDCG", "NDCG_at_k", "ASI"),
    *("AP_level_l", "level_mean_AP", "level_mean_R_at_k", "sum_wAP"),
}
"""The metrics that :func:`score` has a loop for."""


def score(name: str, levels: list[int], depth: int) -> float:
    """One metric of one list, for labels that form a tree."""
    if name == "HAP":
        return hap(levels, depth)
    if name in ("NDCG", "ASI"):
        return ndcg(levels) if name == "NDCG" else asi(levels, depth)
    if name.startswith("NDCG_at_"):
        return ndcg(levels, int(name.removeprefix("NDCG_at_")))
    if name == "sum_wAP":
        return weighted_hap(levels, depth)
    if name.startswith("level_mean_"):
        return level_mean(name.removeprefix("level_mean_"), levels, depth)
    base, _, column = name.partition("_level")
    hits = [v >= depth - int(column or 0) for v in levels]
    total = sum(hits)
    if total == 0:
        return math.nan
    if base == "AP":
        return ap(hits)
    kind, k = base.split("_at_")
    k = total if k == "R" else int(k)
    top = sum(hits[:k])
    return {"AP": ap(hits, k), "R": float(top > 0), "P": top / k, "true_R": top / min(total, k)}[kind]
