"""The k best items of each query out of a large gallery, in bounded memory and without sorting it.

Similarities become whole numbers on the grid of :mod:`trainers.metrics.blocks` with a verdict in their two low bits,
inverted, so that the larger key is more similar and, at equal similarity, worse: ties never help.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from trainers.metrics.blocks import EXACT, GRID, KEY
from trainers.metrics.checks import check_finite

BLOCK = 2**24  # keys held at once
TILE = 2**20  # keys made at once: 4 MB, which stay in the processor's cache
GROUP = 64  # items whose largest key is looked at first
_QUERIES = 512
_TABLE = 2**24  # verdicts per set of classes held at once


def precision(queries: Tensor, gallery: Tensor) -> torch.dtype:
    """Return float64 where it was asked for or is cheap, else float32."""
    asked = torch.float64 in (queries.dtype, gallery.dtype)
    return torch.float64 if asked or len(queries) * len(gallery) <= EXACT else torch.float32


def query_blocks(queries: int, sets: int) -> Iterator[slice]:
    """Yield slices of queries such that a table ``[sets, rows]`` stays small."""
    rows = max(1, min(_QUERIES, _TABLE // max(sets, 1)))
    yield from (slice(first, min(first + rows, queries)) for first in range(0, queries, rows))


def best_keys(
    unit: Tensor, gallery: Tensor, length: Tensor, kind: Tensor, verdicts: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Find the verdicts and indices of the k most similar captions.

    Args:
        unit: ``[b, D]``, queries of length 1 in the precision of the keys.
        gallery: ``[G, D]`` raw; length: ``[G]``, its norms in the same precision.
        kind: int64 ``[G]``, row of ``verdicts`` of each caption; verdicts: uint8 ``[U, b]``, 0 to 3.
        k: at most G.

    Returns:
        uint8 ``[b, k]`` and int64 ``[b, k]``, best first.
    """
    dtype, width = unit.dtype, max(len(unit), 1)
    rows = min(max(GROUP, BLOCK // width // GROUP * GROUP), len(gallery) + -len(gallery) % GROUP)
    held = torch.empty(rows, len(unit), dtype=KEY[dtype], device=unit.device)
    low = (3 - verdicts).to(KEY[dtype])
    keys, indices = held.new_empty(0, len(unit)), torch.empty(0, len(unit), dtype=torch.int64, device=unit.device)
    for first in range(0, len(gallery), rows):
        count = min(rows, len(gallery) - first)
        for begin in range(first, first + count, max(1, TILE // width)):
            part = slice(begin, min(begin + max(1, TILE // width), first + count))
            scale = GRID[dtype] / length[part]
            _fill(held[part.start - first : part.stop - first], unit, gallery[part], scale, low, kind[part])
        held[count:] = torch.iinfo(held.dtype).min
        largest, index = _select(held, min(k, count))
        index += first
        largest, index = torch.cat([keys, largest]), torch.cat([indices, index])
        order = largest.sort(dim=0, descending=True, stable=True).indices[:k]
        keys, indices = largest.gather(0, order), index.gather(0, order)
    return (3 - keys.bitwise_and(3)).to(torch.uint8).T.contiguous(), indices.T.contiguous()


def _fill(keys: Tensor, unit: Tensor, rows: Tensor, scale: Tensor, low: Tensor, kind: Tensor) -> None:
    """Write the keys ``[n, b]`` of some captions, ``low`` being the two low bits by set of classes."""
    similarity = rows.to(unit.dtype) @ unit.T
    similarity *= scale[:, None]
    keys.copy_(similarity.round_())
    keys <<= 2
    keys += low.index_select(0, kind)


def _select(keys: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Select the k best keys of each column and their rows, ``[k, b]`` each, in no order.

    They lie in the k groups of rows with the largest maxima, so only these are searched.
    """
    groups = keys.view(-1, GROUP, keys.shape[1])
    chosen = groups.amax(1).topk(min(k, len(groups)), dim=0).indices
    spread = chosen[:, None, :] * GROUP + torch.arange(GROUP, device=keys.device)[None, :, None]
    spread = spread.reshape(-1, keys.shape[1])
    largest, order = keys.gather(0, spread).topk(k, dim=0)
    return largest, spread.gather(0, order)


def norms(gallery: Tensor, dtype: torch.dtype, what: str) -> Tensor:
    """Return Euclidean norms ``[G]``, at least 1e-12, made in slices so that no second gallery is needed.

    Raises:
        UserError: a row on the CPU holds NaN, infinity or numbers whose squares overflow; ``what`` names the rows.
            Rows on a GPU are checked later, by :func:`trainers.metrics.checks.read_checked`.
    """
    step = max(1, EXACT // max(gallery.shape[1], 1))
    lengths = torch.cat([part.to(dtype).norm(dim=1) for part in gallery.split(step)])
    check_finite(lengths, what)
    return lengths.clamp_min(1e-12)
