"""Scores of an embedding: rank the gallery for every query, then every metric in one pass over the lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
import torch
from torch import Tensor

from trainers.data.roles import Roles
from trainers.devices.host import columns
from trainers.errors import UserError
from trainers.metrics.blocks import GRID, SPARE, codes_of, ranked_blocks
from trainers.metrics.checks import check_finite, read_checked
from trainers.metrics.names import Metric, parse_all
from trainers.metrics.ranked_lists import Codes, Lists, RankedBlock


@overload
def evaluate(
    embeddings: Tensor,
    labels: Tensor,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    metrics: Sequence[str] | None = None,
    per_query: Literal[False] = False,
    *,
    progress: Callable[[int], None] | None = None,
) -> dict[str, float]: ...


@overload
def evaluate(
    embeddings: Tensor,
    labels: Tensor,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    metrics: Sequence[str] | None = None,
    *,
    per_query: Literal[True],
    progress: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]: ...


def evaluate(
    embeddings: Tensor,
    labels: Tensor,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    metrics: Sequence[str] | None = None,
    per_query: bool = False,
    *,
    progress: Callable[[int], None] | None = None,
) -> dict[str, float] | dict[str, np.ndarray]:
    """Compute retrieval metrics by cosine similarity.

    Without a gallery each embedding is searched among all others (the query is removed by index). Queries without a
    positive are left out of a mean and counted. Equal similarities: the less relevant item comes first.

    Args:
        embeddings: ``[Q, D]`` floating, raw; CPU or CUDA. A GPU is waited for once, at the end.
        labels: ``[Q]`` or ``[Q, L]`` integers, finest level first; best on the CPU.
        gallery, gallery_labels: ``[G, D]``, ``[G]`` or ``[G, L]``; None: the embeddings themselves.
        metrics: names, see :data:`trainers.metrics.METRICS`; None: :func:`trainers.metrics.default_metrics`.
        per_query: return float64 arrays ``[Q]``, NaN where the query has no positive, instead of means.
        progress: called with the number of queries ranked so far; it may raise to stop.

    Returns:
        Metric name to mean (or array). Means come with ``queries``, ``queries_without_positive`` (at the finest
        level) and, for L > 1, ``queries_without_positive_any_level``. A mean over no query at all is NaN.

    Raises:
        UserError: shapes do not fit, values are not finite, or a metric is unknown.
    """
    scores = score(embeddings, labels, gallery, gallery_labels, metrics, progress=progress)
    return scores.values if per_query else scores.means(1 if np.ndim(labels) == 1 else labels.shape[1])


def score(
    embeddings: Tensor,
    labels: Tensor,
    gallery: Tensor | None = None,
    gallery_labels: Tensor | None = None,
    metrics: Sequence[str] | None = None,
    *,
    apart: tuple[np.ndarray, np.ndarray] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Scores:
    """Compute as :func:`evaluate` does, for who needs both the means and the results of every query.

    Args:
        apart: what a query does not find, see :func:`trainers.metrics.blocks.ranked_blocks`.
    """
    rows, self_index = _columns(embeddings, labels, "embeddings"), None
    if gallery is None:
        gallery, gallery_rows = embeddings, rows
        self_index = np.arange(len(embeddings))
    elif gallery_labels is None:
        raise UserError(f"A gallery needs its labels; got {len(gallery)} embeddings without. Pass gallery_labels.")
    else:
        gallery_rows = _columns(gallery, gallery_labels, "gallery")
    if rows.shape[1] != gallery_rows.shape[1] or embeddings.shape[1] != gallery.shape[1]:
        raise UserError(
            f"Queries and gallery need the same dimension and number of levels; got {embeddings.shape[1]} and "
            f"{rows.shape[1]} for the queries, {gallery.shape[1]} and {gallery_rows.shape[1]} for the gallery."
        )
    chosen = parse_all(metrics, rows.shape[1])
    with torch.no_grad(), torch.autocast(device_type=embeddings.device.type, enabled=False):
        blocks = ranked_blocks(embeddings, rows, gallery, gallery_rows, self_index, apart)
        return score_blocks(blocks, chosen, progress, embeddings=embeddings, gallery=gallery)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Per-query results.

    Attributes:
        values: metric name to float64 ``[Q]``, NaN where undefined.
        finest: int64 ``[Q]``, positives at the finest level; ``related``: items sharing any level. Both are -1 in rows
            that are no queries, where every value is NaN.
    """

    values: dict[str, np.ndarray]
    finest: np.ndarray
    related: np.ndarray

    def means(self, depth: int) -> dict[str, float]:
        """Return the mean of every metric over the queries where it is defined, and the counts without a positive."""
        defined = {name: value[~np.isnan(value)] for name, value in self.values.items()}
        means = {name: float(value.mean()) if len(value) else math.nan for name, value in defined.items()}
        means["queries"] = int((self.finest >= 0).sum())
        means["queries_without_positive"] = int((self.finest == 0).sum())
        if depth > 1:
            means["queries_without_positive_any_level"] = int((self.related == 0).sum())
        return means


def score_blocks(
    blocks: Iterable[tuple[slice, RankedBlock]],
    metrics: Sequence[Metric],
    progress: Callable[[int], None] | None = None,
    **sides: Tensor,
) -> Scores:
    """Compute every metric of every query from its ranked list.

    Args:
        blocks: queries and their lists, from the first query on.
        metrics: which.
        progress: as for :func:`evaluate`.
        sides: embeddings ``[N, D]`` that the blocks were made from, to be checked where they are on a GPU.

    Raises:
        UserError: some of them are not finite.
    """
    parts = []
    for part, block in blocks:
        lists = Lists(block)
        counted = [lists.column(0).relevant, block.size.double()]
        parts.append(torch.stack(counted + [metric.score(lists) for metric in metrics]))
        if progress is not None:
            progress(part.stop)
    whole = torch.cat(parts, 1) if parts else torch.zeros(len(metrics) + 2, 0, dtype=torch.float64)
    table = read_checked(whole, **sides)
    values = {metric.name: column for metric, column in zip(metrics, table[2:], strict=True)}
    return Scores(values=values, finest=table[0].astype(np.int64), related=table[1].astype(np.int64))


def _columns(embeddings: Tensor, labels: Tensor, what: str) -> np.ndarray:
    """Check labels and give them as int64 ``[N, L]`` on the host; check embeddings where they are on the CPU."""
    labels = torch.as_tensor(labels)
    if embeddings.dim() != 2 or not embeddings.is_floating_point():
        raise UserError(f"The {what} must be a floating table [N, D]; got {embeddings.dtype} {list(embeddings.shape)}.")
    if labels.dim() not in (1, 2) or len(labels) != len(embeddings) or labels.is_floating_point():
        raise UserError(
            f"The {what} need whole-number labels, [{len(embeddings)}] or [{len(embeddings)}, L]; "
            f"got {labels.dtype} {list(labels.shape)}."
        )
    check_finite(embeddings, what)
    return columns(labels)


def score_roles(
    embeddings: Tensor,
    labels: Tensor,
    roles: Roles | None,
    metrics: Sequence[str] | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Scores:
    """Compute metrics of the queries against the gallery; without roles, of every image against all others.

    Args:
        embeddings, labels, metrics, progress: as for :func:`trainers.metrics.evaluate`, of queries and gallery
            together: ``[N, D]`` and ``[N]`` or ``[N, L]``.
        roles: of these images; None: they have none.

    Returns:
        results of all N images; those that are no queries have NaN, and are not counted.

    Raises:
        UserError: as for :func:`trainers.metrics.evaluate`.
    """
    if roles is None:
        return score(embeddings, labels, metrics=metrics, progress=progress)
    labels = torch.as_tensor(labels)
    asked, kept = torch.from_numpy(roles.queries), torch.from_numpy(roles.searched)
    apart = None
    if roles.camera is not None:
        numbers = roles.groups(labels.reshape(len(labels), -1)[:, 0].cpu().numpy())
        apart = numbers[roles.query], numbers[roles.gallery]
    found = score(
        embeddings[asked.to(embeddings.device)],
        labels[asked],
        embeddings[kept.to(embeddings.device)],
        labels[kept],
        metrics,
        apart=apart,
        progress=progress,
    )
    return Scores(
        values={name: _spread(values, roles.query, np.nan) for name, values in found.values.items()},
        finest=_spread(found.finest, roles.query, -1),
        related=_spread(found.related, roles.query, -1),
    )


def _spread(values: np.ndarray, query: np.ndarray, other: float) -> np.ndarray:
    """Return values ``[Q]`` in the rows of the queries, bool ``[N]``, and ``other`` elsewhere."""
    spread = np.full(len(query), other, values.dtype)
    spread[query] = values
    return spread


def score_query(
    match: np.ndarray, metrics: Sequence[str], *, similarity: np.ndarray | None = None, order: np.ndarray | None = None
) -> dict[str, float]:
    """Compute metrics of one query against a gallery that it is not in; those that are not defined are left out.

    Args:
        match, similarity, order: as for :func:`query_block`.
        metrics: names, see :data:`trainers.metrics.METRICS`.

    Raises:
        ParameterError: a metric is unknown.
        UserError: the labels are no tree and have too many levels.
    """
    block = query_block(match, similarity=similarity, order=order)
    values = score_blocks([(slice(0, 1), block)], parse_all(metrics, match.shape[1])).values
    return {name: float(value[0]) for name, value in values.items() if not np.isnan(value[0])}


def query_block(
    match: np.ndarray, *, similarity: np.ndarray | None = None, order: np.ndarray | None = None
) -> RankedBlock:
    """Make the ranked list of one query against a gallery that it is not in.

    Args:
        match: bool ``[G, L]``, whether each item agrees with the query at each level, finest first.
        similarity: ``[G]``, float64 or float32, cosines. Equal ones: the less relevant item comes first, and the
            numbers are those of :func:`trainers.metrics.evaluate`.
        order: int64 ``[G]``, in place of similarities: the items in ranked order.

    Raises:
        UserError: the labels are no tree and have too many levels.
    """
    nested = bool((match[:, :-1] <= match[:, 1:]).all())  # who agrees at a level agrees at every coarser one
    codes = codes_of(match.shape[1], torch.device("cpu"), tree=nested)
    code = _codes(match, codes)
    if order is None:
        assert similarity is not None
        small = similarity.dtype == np.float32 and codes.bits <= SPARE[torch.float32]
        grid, whole = (GRID[torch.float32], np.int32) if small else (GRID[torch.float64], np.int64)
        keys = np.rint(similarity * similarity.dtype.type(-grid)).astype(whole)
        keys <<= codes.bits
        keys |= code.astype(whole)
        keys.sort()
        ranked = keys & (2**codes.bits - 1)
    else:
        ranked = code[order]
    sizes = np.array([np.count_nonzero(ranked)])
    return RankedBlock.of(torch.from_numpy(ranked)[None], codes, sizes)


def _codes(match: np.ndarray, codes: Codes) -> np.ndarray:
    """Return the code int64 ``[G]`` of each row of ``match [G, L]``."""
    if codes.tree:
        level: np.ndarray = match.sum(axis=1)
        return level
    weights = 1 << np.arange(match.shape[1])
    code_of: np.ndarray = np.empty(codes.match.shape[1], np.int64)
    code_of[weights @ codes.match.numpy()] = np.arange(len(code_of))
    per_item: np.ndarray = code_of[match @ weights]
    return per_item
