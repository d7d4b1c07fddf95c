"""The rank losses written as slowly and plainly as their formulas: one pair at a time, gradients by autograd.

Everything is float64; ``s`` is a row of similarities, ``levels`` the same row's level counts. Nothing is shared with
the code under test.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

BOUND = {"tau": 0.01, "rho": 100.0, "delta": 0.05, "start": 0.5, "offset": None}


def sigmoid(t: Tensor, tau: float) -> Tensor:
    return 1.0 / (1.0 + torch.exp((-t / tau).clamp(-500.0, 500.0)))


def h_minus(t: Tensor, *, tau: float, rho: float, delta: float, start: float, offset: float | None) -> Tensor:
    if offset is None:
        offset = start + 1.0 / (1.0 + math.exp(-delta / tau))
    if t > delta:
        return rho * (t - delta) + offset
    return sigmoid(t, tau) + (start if t > 0 else 0.0)


def level_counts(labels: Tensor, others: Tensor) -> list[list[int]]:
    return [[int(sum(a == b for a, b in zip(x, y, strict=True))) for y in others.tolist()] for x in labels.tolist()]


def cosines(emb: Tensor, gallery: Tensor | None) -> Tensor:
    x = emb / emb.norm(dim=1, keepdim=True)
    g = x if gallery is None else gallery / gallery.norm(dim=1, keepdim=True)
    return x @ g.T


def sup_rank(s: Tensor, levels: list[int], i: int, bound: dict) -> Tensor:
    rank = torch.ones((), dtype=s.dtype)
    for j in range(len(levels)):
        if j != i:
            t = s[j] - s[i]
            rank = rank + (h_minus(t, **bound) if levels[j] < levels[i] else float(t >= 0))
    return rank


def smooth_rank(s: Tensor, i: int, tau: float) -> Tensor:
    return 1.0 + sum((sigmoid(s[j] - s[i], tau) for j in range(len(s)) if j != i), s.new_zeros(()))


def relevances(levels: list[int], depth: int, alpha: float) -> list[float]:
    return [(v / depth) ** alpha / levels.count(v) if v else 0.0 for v in levels]


def weighted_relevances(levels: list[int], weights: list[float]) -> list[float]:
    def share(p: int) -> float:
        return weights[p - 1] / sum(v >= p for v in levels)

    return [sum(share(p) for p in range(1, v + 1)) for v in levels]


def lift(t: Tensor, beta: float, leak: float, gamma: float) -> Tensor:
    return torch.clamp(beta * t + gamma, max=1.0) if t > 0 else leak * t


def h_rank(s: Tensor, levels: list[int], rel: list[float], i: int, smooth: dict | None = None) -> Tensor:
    total = torch.full((), rel[i], dtype=s.dtype)
    for j in range(len(levels)):
        if j != i:
            t = s[j] - s[i]
            up = lift(t, **smooth) if smooth and levels[j] > levels[i] else float(t >= 0)
            total = total + min(rel[i], rel[j]) * up
    return total


def over_queries(emb: Tensor, labels: Tensor, gallery: Tensor | None, gallery_labels: Tensor | None, score) -> Tensor:
    """Mean of 1 - score(q, s, levels) over the queries with a positive; zero when there is none."""
    labels = labels.reshape(len(labels), -1)
    others = labels if gallery_labels is None else gallery_labels.reshape(len(gallery_labels), -1)
    similarity, table = cosines(emb, gallery), level_counts(labels, others)
    scores = [score(q, similarity[q], table[q]) for q in range(len(emb)) if any(table[q])]
    scores = [value for value in scores if value is not None]
    nothing = (similarity * 0.0).sum()
    return nothing + 1.0 - sum(scores) / len(scores) if scores else nothing


def hap(rel_of, bound: dict | None = None, tau: float | None = None, smooth: dict | None = None):
    """Score of a query under H-AP; Sup ranks with ``bound``, all-sigmoid ranks with ``tau``."""

    def score(q: int, s: Tensor, levels: list[int]) -> Tensor:
        rel, total = rel_of(levels), s.new_zeros(())
        for i in (i for i in range(len(levels)) if levels[i]):
            if tau is None:
                total = total + h_rank(s, levels, rel, i, smooth) / sup_rank(s, levels, i, bound)
            else:
                others = [j for j in range(len(levels)) if j != i]
                top = rel[i] + sum((min(rel[i], rel[j]) * sigmoid(s[j] - s[i], tau) for j in others), s.new_zeros(()))
                total = total + top / smooth_rank(s, i, tau)
        return total / sum(rel)

    return score


def ndcg(bound: dict | None = None, tau: float | None = None):
    """Score of a query under NDCG with gain 2^levels - 1."""

    def score(q: int, s: Tensor, levels: list[int]) -> Tensor:
        total = s.new_zeros(())
        for i in (i for i in range(len(levels)) if levels[i]):
            rank = sup_rank(s, levels, i, bound) if tau is None else smooth_rank(s, i, tau)
            total = total + (2.0 ** levels[i] - 1.0) / torch.log2(1.0 + rank)
        return total / sum(
            (2.0**v - 1.0) / math.log2(2.0 + index) for index, v in enumerate(sorted(levels, reverse=True))
        )

    return score


def recall(at_k, temp: float, bound: dict | None = None, tau: float | None = None):
    """Score of a query under Smooth-R@k and Sup-R@k."""

    def score(q: int, s: Tensor, levels: list[int]) -> Tensor:
        positives = [i for i in range(len(levels)) if levels[i]]
        ranks = [sup_rank(s, levels, i, bound) if tau is None else smooth_rank(s, i, tau) for i in positives]
        per_k = [sum(sigmoid(k - rank, temp) for rank in ranks) / min(k, len(positives)) for k in at_k]
        return sum(per_k) / len(at_k)

    return score


def patel(at_k, temps, tau: float, own: bool):
    """Score of a query under RS@k: the query is no positive of itself, k is cut at the gallery, sums at k."""

    def score(q: int, s: Tensor, levels: list[int]) -> Tensor | None:
        positives = [i for i in range(len(levels)) if levels[i] and not (own and i == q)]
        if not positives:
            return None
        total = s.new_zeros(())
        for k, temp in zip(at_k, temps, strict=True):
            k = min(k, len(levels))
            found = sum(sigmoid(k - smooth_rank(s, i, tau), temp) for i in positives)
            total = total + torch.clamp(found, max=k) / min(k, len(positives))
        return total / len(at_k)

    return score


def patel_as_printed(at_k, tau: float, own: bool):
    """RS@k as its paper prints it: the query is in no list of its own, and neither k nor the sums are cut."""

    def score(q: int, s: Tensor, levels: list[int]) -> Tensor | None:
        items = [j for j in range(len(levels)) if not (own and j == q)]
        positives = [i for i in items if levels[i]]
        if not positives:
            return None
        rest, total = s[items], s.new_zeros(())
        for k in at_k:
            ranks = [smooth_rank(rest, items.index(i), tau) for i in positives]
            total = total + sum(sigmoid(k - rank, 1.0) for rank in ranks) / min(k, len(positives))
        return total / len(at_k)

    return score


def calibration(
    emb: Tensor, labels: Tensor, gallery: Tensor | None, gallery_labels: Tensor | None, a: float, b: float, every: bool
) -> Tensor:
    similarity = cosines(emb, gallery)
    labels = labels.reshape(len(labels), -1)[:, 0].tolist()
    others = labels if gallery_labels is None else gallery_labels.reshape(len(gallery_labels), -1)[:, 0].tolist()
    pull, push = [], []
    for i, y in enumerate(labels):
        for j, z in enumerate(others):
            if gallery is not None or i != j:
                (pull if y == z else push).append((a - similarity[i, j]) if y == z else (similarity[i, j] - b))
    total = similarity.sum() * 0.0
    for side in (pull, push):
        active = [value for value in side if value > 0]
        if active:
            total = total + sum(active) / (len(side) if every else len(active))
    return total


def proxy_softmax(emb: Tensor, labels: Tensor, proxies: Tensor, temperature: float) -> Tensor:
    x = emb / emb.norm(dim=1, keepdim=True)
    w = proxies / proxies.norm(dim=1, keepdim=True)
    total = x.new_zeros(())
    for row, y in zip(x, labels.reshape(len(labels), -1)[:, 0].tolist(), strict=True):
        logits = [(row * p).sum() / temperature for p in w]
        total = total - (logits[y] - torch.logsumexp(torch.stack(logits), 0))
    return total / len(x)


def average_precision(s: list[float], relevant: list[bool]) -> float:
    """The true AP of a list with the query in it; ties count as ranked above."""
    places = [i for i, hit in enumerate(relevant) if hit]
    precisions = [
        sum(relevant[j] and s[j] >= s[i] for j in range(len(s))) / sum(s[j] >= s[i] for j in range(len(s)))
        for i in places
    ]
    return sum(precisions) / len(precisions)
