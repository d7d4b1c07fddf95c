"""Losses against a memory that holds the current batch, one query and one remembered image at a time, in float64.

The memory is a plain list of (who, unit row, label), oldest first; every embedding ever seen has a number of its own,
and a query's copy is the entry with its number. Nothing is shared with the code under test.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor

from tests.losses import reference


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query and what it is compared with: every remembered image, and those that are not the query itself."""

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
    """First in, first out; ``size`` entries."""

    def __init__(self, size: int) -> None:
        self.held: deque[tuple[int, Tensor, int]] = deque(maxlen=size)
        self.seen = 0

    def meet(self, emb: Tensor, labels: Tensor) -> list[Query]:
        """Push ``emb [B, V, D]`` with labels ``[B]``, image by image; then its queries, first views first."""
        images, views, _ = emb.shape
        x = emb / emb.norm(dim=-1, keepdim=True)
        number = {}
        for i in range(images):
            for v in range(views):
                number[i, v] = self.seen
                self.held.append((self.seen, x[i, v].detach(), int(labels[i])))
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


def patel(queries: list[Query], at_k: tuple[int, ...], tau: float) -> Tensor:
    """The query is no positive of itself; its copy stays among the items that push positives down."""
    scores = []
    for query in queries:
        positives, _ = query.split()
        everyone = [query.row @ row for row, _ in query.everyone]
        if positives:
            ranks = [0.5 + sum(reference.sigmoid(s - p, tau) for s in everyone) for p in positives]
            per_k = [sum(reference.sigmoid(k - r, 1.0) for r in ranks).clamp(max=k) / min(k, len(ranks)) for k in at_k]
            scores.append(1 - sum(per_k) / len(at_k))
    return mean(scores)


def calibration(queries: list[Query], alpha: float, beta: float, every: bool) -> Tensor:
    pull, push = [], []
    for query in queries:
        positives, negatives = query.split()
        pull += [torch.clamp(alpha - s, min=0) for s in positives]
        push += [torch.clamp(s - beta, min=0) for s in negatives]
    return mean(pull) + mean(push) if every else active(pull) + active(push)


def sup_ap(queries: list[Query]) -> Tensor:
    """The query's copy counts as a positive, as the query does in the batch."""
    scores = []
    for query in queries:
        s = torch.stack([query.row @ row for row, _ in query.everyone])
        levels = [int(label == query.label) for _, label in query.everyone]
        if any(levels):
            binary = [float(level) for level in levels]
            scores.append(1 - reference.hap(lambda _, binary=binary: binary, reference.BOUND)(0, s, levels))
    return mean(scores)


def xbm(queries: list[Query], margin: float, hinge: bool) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for query in queries:
        positives, negatives = query.split()
        total = total + sum(1 - s for s in positives)
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
