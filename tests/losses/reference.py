"""The losses written as slowly and plainly as their formulas: one pair at a time, gradients by autograd.

Everything is float64; ``s`` is a row of similarities, ``levels`` the same row's level counts. Nothing is shared with
the code under test.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from dataclasses import dataclass

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
    return rows_of(emb) @ rows_of(emb if gallery is None else gallery).T


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


def proxy_softmax(emb: Tensor, labels: Tensor, proxies: Tensor, temperature: float) -> Tensor:
    x, w = rows_of(emb), rows_of(proxies)
    total = x.new_zeros(())
    for row, y in zip(x, labels.reshape(len(labels), -1)[:, 0].tolist(), strict=True):
        logits = [(row * p).sum() / temperature for p in w]
        total = total - (logits[y] - torch.logsumexp(torch.stack(logits), 0))
    return total / len(x)


def rows_of(emb: Tensor) -> Tensor:
    return emb.double() / emb.double().norm(dim=-1, keepdim=True)


def grad(loss: Tensor, leaf: Tensor) -> Tensor:
    return torch.autograd.grad(loss, leaf, retain_graph=True)[0]


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query and what it is compared with: every image there is, and those that are not the query itself."""

    row: Tensor
    label: int
    everyone: list[tuple[Tensor, int]]
    others: list[tuple[Tensor, int]]

    def split(self) -> tuple[list[Tensor], list[Tensor]]:
        """Cosines of the positives and of the negatives among the others."""
        found: tuple[list[Tensor], list[Tensor]] = ([], [])
        for row, label in self.others:
            found[label != self.label].append(self.row @ row)
        return found


class SlowMemory:
    """First in, first out; ``size`` entries: a plain list of (who, unit row, label), oldest first.

    Every embedding ever seen has a number of its own, and a query's copy is the entry with its number.
    """

    def __init__(self, size: int | None = None) -> None:
        self.held: deque[tuple[int, Tensor, int]] = deque(maxlen=size)
        self.seen = 0

    def meet(self, emb: Tensor, labels: Tensor, *, kept: bool = True) -> list[Query]:
        """Push ``emb [B, V, D]`` with labels ``[B]``, image by image; then its queries, first views first.

        ``kept``: without gradient, as what is remembered.
        """
        images, views, _ = emb.shape
        x = rows_of(emb)
        number = {}
        for i in range(images):
            for v in range(views):
                number[i, v] = self.seen
                self.held.append((self.seen, x[i, v].detach() if kept else x[i, v], int(labels[i])))
                self.seen += 1
        return [
            Query(
                row=x[i, v],
                label=int(labels[i]),
                everyone=[(row, label) for _, row, label in self.held],
                others=[(row, label) for who, row, label in self.held if who != number[i, v]],
            )
            for v in range(views)
            for i in range(images)
        ]


def asked(
    emb: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
) -> list[Query]:
    """The queries ``emb [B, D]`` or ``[B, V, D]`` of a batch that is compared with itself, or with a gallery."""
    emb, finest = emb.reshape(len(emb), -1, emb.shape[-1]), labels.reshape(len(labels), -1)[:, 0]
    queries = SlowMemory().meet(emb, finest, kept=False)
    if gallery is None:
        return queries
    others = list(zip(rows_of(gallery), gallery_labels.reshape(len(gallery), -1)[:, 0].tolist(), strict=True))
    return [dataclasses.replace(query, everyone=others, others=others) for query in queries]


def mean(values: list[Tensor]) -> Tensor:
    return torch.stack(values).mean() if values else torch.zeros((), dtype=torch.float64)


def active(values: list[Tensor]) -> Tensor:
    return mean([value for value in values if value > 0])


def supcon(queries: list[Query], temperature: float, inside: bool) -> Tensor:
    total = []
    for query in queries:
        positives, negatives = ([torch.exp(s / temperature) for s in side] for side in query.split())
        shares = [weight / sum([*positives, *negatives]) for weight in positives]
        if not shares:
            total.append(query.row.sum() * 0)
        else:
            total.append(-torch.log(sum(shares) / len(shares)) if inside else mean([-torch.log(s) for s in shares]))
    return mean(total)


def softbin_ap(queries: list[Query], bins: int) -> Tensor:
    scores, width = [], 2 / (bins - 1)
    for query in queries:
        positives, negatives = query.split()
        score, total, found = torch.zeros((), dtype=torch.float64), 0.0, 0.0
        for centre in torch.linspace(1, -1, bins, dtype=torch.float64):
            hit, miss = (
                sum(torch.clamp(1 - (s - centre).abs() / width, min=0) for s in side) for side in (positives, negatives)
            )
            total, found = total + hit + miss, found + hit
            score = score + (found / total * hit if total > 0 else 0.0)
        if positives:
            scores.append(1 - score / len(positives))
    return mean(scores)


def blackbox_ap(queries: list[Query], margin: float) -> Tensor:
    scores = []
    for query in queries:
        positives, negatives = query.split()
        listed = sorted(
            [(float(s) - margin / 2, 1) for s in positives] + [(float(s) + margin / 2, 0) for s in negatives]
        )
        hits = [hit for _, hit in reversed(listed)]
        places = [index for index, hit in enumerate(hits) if hit]
        if places:
            scores.append(1 - sum(sum(hits[: p + 1]) / (p + 1) for p in places) / len(places))
    return torch.tensor(scores, dtype=torch.float64).mean()


def patel_of(queries: list[Query], at_k: tuple[int, ...], tau: float) -> Tensor:
    """The query is no positive of itself; its copy stays among the items that push positives down."""
    scores = []
    for query in queries:
        positives, _ = query.split()
        everyone = [query.row @ row for row, _ in query.everyone]
        if positives:
            ranks = [0.5 + sum(sigmoid(s - p, tau) for s in everyone) for p in positives]
            per_k = [sum(sigmoid(k - r, 1.0) for r in ranks).clamp(max=k) / min(k, len(ranks)) for k in at_k]
            scores.append(1 - sum(per_k) / len(at_k))
    return mean(scores)


def calibration(queries: list[Query], alpha: float, beta: float, every: bool) -> Tensor:
    pull, push = [], []
    for query in queries:
        positives, negatives = query.split()
        pull += [torch.clamp(alpha - s, min=0) for s in positives]
        push += [torch.clamp(s - beta, min=0) for s in negatives]
    nothing = queries[0].row.sum() * 0
    return nothing + (mean(pull) + mean(push) if every else active(pull) + active(push))


def sup_ap(queries: list[Query]) -> Tensor:
    """The query's copy counts as a positive, as the query does in the batch."""
    scores = []
    for query in queries:
        s = torch.stack([query.row @ row for row, _ in query.everyone])
        levels = [int(label == query.label) for _, label in query.everyone]
        if any(levels):
            binary = [float(level) for level in levels]
            scores.append(1 - hap(lambda _, binary=binary: binary, BOUND)(0, s, levels))
    return mean(scores)


def xbm(queries: list[Query], margin: float, hinge: bool = False, cutoff: float = torch.inf) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for query in queries:
        positives, negatives = query.split()
        total = total + sum(1 - s for s in positives if s < cutoff)
        total = total + sum(s - margin if hinge else s for s in negatives if s > margin)
    return total / len(queries)


def distance(s: Tensor) -> Tensor:
    return torch.sqrt(torch.clamp(2 - 2 * s, min=0))


def triplet(queries: list[Query], margin: float, mining: str) -> Tensor:
    hinges = []
    for query in queries:
        positives, negatives = ([distance(s) for s in side] for side in query.split())
        if mining == "hard" and positives and negatives:
            positives, negatives = [max(positives)], [min(negatives)]
        hinges += [p - n + margin for p in positives for n in negatives if mining != "semihard" or p < n]
    return active(hinges)


def contrastive(queries: list[Query], inner: float, outer: float) -> Tensor:
    pull, push = [], []
    for query in queries:
        positives, negatives = query.split()
        pull += [distance(s) - inner for s in positives]
        push += [outer - distance(s) for s in negatives]
    return active(pull) + active(push)


def multi_similarity(queries: list[Query], epsilon: float | None) -> Tensor:
    total = []
    for query in queries:
        positives, negatives = query.split()
        if epsilon is not None:
            positives, negatives = (
                [p for p in positives if negatives and p - epsilon < max(negatives)],
                [n for n in negatives if positives and n + epsilon > min(positives)],
            )
        none = query.row.sum() * 0
        near = torch.log1p(sum((torch.exp(-2 * (p - 0.5)) for p in positives), none)) / 2
        total.append(near + torch.log1p(sum((torch.exp(50 * (n - 0.5)) for n in negatives), none)) / 50)
    return mean(total)


def contextual_similarity(emb, k, eps):
    """w of the contextual loss, value alone."""
    x = rows_of(emb)
    n = len(x)
    d = [[max(float(2 - 2 * (x[i] @ x[j])), 0.0) for j in range(n)] for i in range(n)]

    def neighbours(i, size):
        radius = sorted(d[i])[size - 1] + eps
        return {j for j in range(n) if d[i][j] <= radius}

    near = [neighbours(i, k) for i in range(n)]
    close = [neighbours(i, k // 2) for i in range(n)]
    everyone = set(range(n))
    w1 = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        for j in near[i]:
            both, neither = near[i] & near[j], everyone - near[i] - near[j]
            w1[i, j] = (len(both) / len(near[i]) + len(neither) / max(1, n - len(near[i]))) / 2
    w2 = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        mutual = [p for p in close[i] if i in close[p]]
        w2[i] = sum(w1[p] for p in mutual) / len(mutual)
    return (w2 + w2.T) / 2


def contextual_parts(emb, labels, w, pos_margin, neg_margin, target):
    x = rows_of(emb)
    n = len(x)
    context, pull, push, mean = 0.0, [], [], 0.0
    for i in range(n):
        for j in range(n):
            s = x[i] @ x[j]
            mean = mean + s / n**2
            if i != j:
                same = bool(labels[i] == labels[j])
                context = context + (float(same) - w[i, j]) ** 2 / n**2
                (pull if same else push).append(pos_margin - s if same else s - neg_margin)
    contrast = torch.zeros((), dtype=torch.float64)
    for hinges in (pull, push):
        active = [h for h in hinges if h > 0]
        contrast = contrast + (sum(active) / len(active) if active else 0.0)
    return {"context": context, "contrast": contrast, "regulariser": (mean - target) ** 2}
