"""The metrics of one query, from its similarities or from a ranking that is given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from trainers.metrics.blocks import GRID, SPARE, codes_of
from trainers.metrics.names import parse_all
from trainers.metrics.ranked_lists import Codes, RankedBlock
from trainers.metrics.scores import score_blocks


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
