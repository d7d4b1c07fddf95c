"""Classification by the nearest neighbours, each weighted by its similarity.

Wu et al., "Unsupervised Feature Learning via Non-Parametric Instance Discrimination", CVPR 2018, section 3.4: each of
the k nearest images of a bank votes for its class with weight exp(s / T), s being the cosine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.errors import UserError
from trainers.metrics.checks import check_labels, check_rows, read_checked, unit_rows

BLOCK = 2**22  # similarities held at once: float64, and a whole number beside each
GRID = 2.0**44  # similarities on the same grid point are equal; far above the rounding of a float64 product
VOTE_BITS = 62  # of the sum of a class's votes
TOP = 5


@torch.no_grad()
def knn_accuracy(
    bank: Tensor,
    bank_labels: Tensor,
    queries: Tensor,
    labels: Tensor,
    *,
    k: int = 200,
    temperature: float = 0.07,
    rows: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, float]:
    """Share of queries whose class gets the most votes of its neighbours.

    Ties never help. A query is right only if its class has a vote and more than every other class. Among bank images
    that are as similar as the k-th neighbour, those of the query's class come last, and each other class is compared
    with as many of them as fit. Votes are whole numbers, so the order of the bank changes nothing.

    Args:
        bank: ``[N, D]`` floating, raw or unit, on the queries' device; their ``bank_labels``: ``[N]`` or ``[N, L]``,
            of which the finest are used. No query may be in it.
        queries, labels: ``[Q, D]``, and ``[Q]`` or ``[Q, L]``.
        k: neighbours that vote; at most the bank's size.
        temperature: T.
        rows: queries at a time; None: about 4 million similarities.
        progress: called with the number of queries done so far; it may raise to stop.

    Returns:
        ``knn_accuracy`` and, where the labels have more than five classes, ``knn_top5``: the share of queries with
        fewer than five other classes that have as many votes.

    Raises:
        UserError: shapes do not fit, values are not finite, or k or the temperature is not positive.
    """
    known, asked = _checked(bank, bank_labels, queries, labels, k, temperature)
    classes, numbers = np.unique(np.concatenate([known, asked]), return_inverse=True)
    voters = _Bank.of(bank, numbers[: len(known)], len(classes), min(k, len(bank)), temperature)
    targets, parts = send(numbers[len(known) :], queries.device), []
    step = rows or max(1, BLOCK // max(len(bank), len(classes)))
    with torch.autocast(device_type=queries.device.type, enabled=False):
        for first in range(0, len(queries), step):
            part = slice(first, first + step)
            parts.append(voters.classes_ahead(queries[part], targets[part]))
            if progress is not None:
                progress(min(part.stop, len(queries)))
    ahead = read_checked(torch.cat(parts), bank=bank, queries=queries)
    shares = {"knn_accuracy": float((ahead == 0).mean())}
    return shares | ({"knn_top5": float((ahead < TOP).mean())} if len(classes) > TOP else {})


@dataclass(frozen=True, kw_only=True)
class _Bank:
    """Images that vote, sorted by class, so that counts per class are differences of running counts.

    Attributes:
        rows: float64 ``[N, D]``, unit.
        class_of: int64 ``[N]``.
        ends: int64 ``[C + 1]``, where each class begins and the last one ends.
        k, temperature: as for :func:`knn_accuracy`.
    """

    rows: Tensor
    class_of: Tensor
    ends: Tensor
    k: int
    temperature: float

    @classmethod
    def of(cls, bank: Tensor, numbers: np.ndarray, classes: int, k: int, temperature: float) -> _Bank:
        """Make it from raw rows ``[N, D]`` and their classes ``[N]``, numbered from 0."""
        order = numbers.argsort(kind="stable")
        ends = np.concatenate([[0], np.bincount(numbers, minlength=classes).cumsum()])
        device = bank.device
        return cls(
            rows=unit_rows(bank)[send(order, device)],
            class_of=send(numbers[order], device),
            ends=send(ends, device),
            k=k,
            temperature=temperature,
        )

    def classes_ahead(self, queries: Tensor, targets: Tensor) -> Tensor:
        """Count the other classes with as many votes as the query's or more; all of them if its class has none.

        Args:
            queries: ``[b, D]`` raw.
            targets: int64 ``[b]``, their classes.

        Returns:
            int64 ``[b]``.
        """
        keys = (unit_rows(queries) * GRID @ self.rows.T).round_()
        top, nearest = keys.topk(self.k, dim=1)
        last = top[:, -1:]
        largest = 2.0 ** (VOTE_BITS - self.k.bit_length())
        weight = (((top - top[:, :1]) / (GRID * self.temperature)).exp_() * largest).round_().long()
        above = top > last
        votes = weight.new_zeros(len(queries), len(self.ends) - 1)
        votes.scatter_add_(1, self.class_of[nearest], weight * above)
        tied = self._per_class(keys == last)
        free = self.k - above.sum(1, keepdim=True)
        targets = targets[:, None]
        left = (free - (tied.sum(1, keepdim=True) - tied.gather(1, targets))).clamp_(min=0)
        mine = votes.gather(1, targets) + weight[:, -1:] * left
        rivals = (votes + weight[:, -1:] * torch.minimum(tied, free)).scatter_(1, targets, -1)
        ahead = (rivals >= mine).sum(1)
        return ahead.masked_fill_(mine[:, 0] == 0, torch.iinfo(ahead.dtype).max)

    def _per_class(self, flags: Tensor) -> Tensor:
        """Count bool ``[b, N]`` per class, int64 ``[b, C]``."""
        counts = torch.zeros(len(flags), flags.shape[1] + 1, dtype=torch.int32, device=flags.device)
        torch.cumsum(flags, 1, dtype=torch.int32, out=counts[:, 1:])
        return counts[:, self.ends].diff(dim=1).long()


def _checked(
    bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor, k: int, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """Check both sides and return their labels on the host, int64 ``[N]`` and ``[Q]``."""
    check_rows(bank, "bank")
    check_rows(queries, "queries")
    if bank.shape[1] != queries.shape[1]:
        raise UserError(
            f"The bank and the queries need the same dimension; got {bank.shape[1]} and {queries.shape[1]}."
        )
    if k < 1 or not temperature > 0:
        raise UserError(f"k-NN needs k of at least 1 and a temperature above 0; got {k} and {temperature}.")
    return check_labels(bank, bank_labels, "bank"), check_labels(queries, labels, "queries")
