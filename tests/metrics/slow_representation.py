"""k-NN, linear probe and geometry as loops in float64: nothing shared with the code under test but the batches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional


def cosine(x, y) -> float:
    return float(np.dot(x, y)) / math.sqrt(float(np.dot(x, x)) * float(np.dot(y, y)))


def votes(entries: Sequence[tuple[float, int]], k: int, temperature: float, own: int, rival: int) -> dict[int, float]:
    """Votes of the k nearest ``(cosine, class)``: equal ones with the rival first and the query's own class last."""
    place = sorted(entries, key=lambda entry: (-entry[0], entry[1] == own, entry[1] != rival))
    total: dict[int, float] = {}
    for similarity, label in place[:k]:
        total[label] = total.get(label, 0.0) + math.exp(similarity / temperature)
    return total


def classes_ahead(bank, bank_labels, query, own: int, k: int, temperature: float) -> float:
    """Other classes with as many votes or more, each with the neighbours that suit it best; infinite: own has none."""
    entries = [(round(cosine(query, row), 12), int(label)) for row, label in zip(bank, bank_labels, strict=True)]
    ahead = 0
    for rival in {label for _, label in entries} - {own}:
        total = votes(entries, k, temperature, own, rival)
        ahead += total.get(rival, 0.0) >= total.get(own, 0.0) * (1 - 1e-12)
    return ahead if votes(entries, k, temperature, own, own).get(own, 0.0) else math.inf


def knn(bank, bank_labels, queries, labels, k: int, temperature: float) -> tuple[float, float]:
    """Shares right and right among the first five."""
    bank, queries = np.asarray(bank, float), np.asarray(queries, float)
    ahead = [
        classes_ahead(bank, bank_labels, row, int(label), k, temperature)
        for row, label in zip(queries, labels, strict=True)
    ]
    return sum(a == 0 for a in ahead) / len(ahead), sum(a < 5 for a in ahead) / len(ahead)


def alignment(first, second) -> float:
    total = 0.0
    for x, y in zip(np.asarray(first, float), np.asarray(second, float), strict=True):
        total += 2 - 2 * cosine(x, y)
    return total / len(first)


def mean_cosine(rows) -> float:
    rows = np.asarray(rows, float)
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
    return sum(cosine(rows[i], rows[j]) for i, j in pairs) / len(pairs)


def uniformity(rows) -> float:
    rows = np.asarray(rows, float)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    terms = [
        math.exp(-2 * float(((rows[i] - rows[j]) ** 2).sum()))
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
    ]
    return math.log(math.fsum(terms) / len(terms))


def rank(rows) -> float:
    values = np.linalg.svd(np.asarray(rows, float), compute_uv=False)
    return math.exp(-sum(p * math.log(p) for p in (value / values.sum() + 1e-7 for value in values)))


def class_collapse(rows, labels) -> float:
    """Traces of the two scatter matrices, outer product by outer product."""
    rows, labels = np.asarray(rows, float), np.asarray(labels)
    middle, dim = rows.mean(0), rows.shape[1]
    within, between = np.zeros((dim, dim)), np.zeros((dim, dim))
    for label in set(labels.tolist()):
        some = rows[labels == label]
        mean = some.mean(0)
        for row in some:
            within += np.outer(row - mean, row - mean) / len(rows)
        between += len(some) / len(rows) * np.outer(mean - middle, mean - middle)
    return float(np.trace(within) / np.trace(between))


def probe(features, classes, batches, *, rate: float, steps: int, first, decay: float) -> torch.nn.Linear:
    """One layer by autograd and torch's own optimiser, in float64."""
    layer = torch.nn.Linear(features.shape[1], first.shape[1], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(first.T)
        layer.bias.zero_()
    optimizer = torch.optim.SGD(layer.parameters(), lr=rate, momentum=0.9, weight_decay=decay)
    for step, rows in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = rate * (0.1 if step >= round(0.6 * steps) else 1) * (0.1 if step >= round(0.8 * steps) else 1)
        loss = functional.cross_entropy(layer(features[rows]), classes[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return layer
