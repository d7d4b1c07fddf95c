"""Embeddings to ranked lists, block by block of queries, in bounded memory.

Each similarity becomes a whole number on a fixed grid with the pair's code in its low bits, so that one sort of keys
gives order and relevance at once. Similarities that fall on the same grid point are ties; among them **the less
relevant item comes first**, in every metric. So ties never help: the result depends on no order of the gallery, and a
collapsed network scores as badly as it ranks. The grid, 2^-24 in float32 and 2^-44 in float64, is about the rounding
error of the product in float32 and far above it in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn import functional

from trainers.errors import UserError
from trainers.metrics.ranked import Codes, RankedBlock

BLOCK = 2**23  # similarities held at once
ITEMS = 2**18  # relevant items scored at once: their columns stay in the processor's cache
EXACT = 2**23  # up to so many pairs the product is done in float64, which then costs little
GRID = {torch.float32: 2.0**24, torch.float64: 2.0**44}
KEY = {torch.float32: torch.int32, torch.float64: torch.int64}
SPARE = {torch.float32: 6, torch.float64: 18}  # bits left for the code


def legend(labels: Tensor, gallery_labels: Tensor) -> Codes:
    """Choose the codes: the level itself for a tree, else one code per combination of equal columns.

    Args:
        labels: ``[Q, L]``; gallery_labels: ``[G, L]``.
    """
    depth, device = labels.shape[1], labels.device
    if _is_tree(torch.cat([labels, gallery_labels])):
        level = torch.arange(depth + 1, device=device)
        match = level[None] >= depth - torch.arange(depth, device=device)[:, None]
        return Codes(level=level, match=match, bits=int(depth).bit_length(), tree=True)
    if depth > SPARE[torch.float64]:
        raise UserError(
            f"Labels of {depth} levels need to form a tree: two images that agree at a level agree at every coarser "
            f"one. These do not. Make the ids of each level unique across its parents."
        )
    pattern = torch.arange(2**depth, device=device)
    match = (pattern[None] >> torch.arange(depth, device=device)[:, None]) & 1
    order = match.sum(0).argsort(stable=True)
    match = match[:, order].bool()
    return Codes(level=match.sum(0), match=match, bits=depth, tree=False)


def ranked_blocks(
    queries: Tensor, labels: Tensor, gallery: Tensor, gallery_labels: Tensor, own: Tensor | None, rows: int | None
) -> Iterator[tuple[slice, RankedBlock]]:
    """Rank the gallery for each query, a block of queries at a time.

    Args:
        queries: ``[Q, D]`` raw; gallery: ``[G, D]`` raw.
        labels: ``[Q, L]``, finest first; gallery_labels: ``[G, L]``.
        own: int64 ``[Q]``, where each query stands in the gallery, -1 for nowhere; None: nowhere. It is taken out
            by index: it goes to the end of its list as an irrelevant item, which no metric notices.
        rows: queries in a block; None: as many as ``BLOCK`` similarities allow.
    """
    codes = legend(labels, gallery_labels)
    dtype = _dtype(queries, gallery, codes.bits)
    unit = functional.normalize(gallery.to(dtype), dim=1, eps=1e-12)
    rows = rows or max(1, BLOCK // max(len(gallery), 1))
    labels, gallery_labels = _renumber(labels, gallery_labels)
    gallery_labels = gallery_labels.T.contiguous()
    for first in range(0, len(queries), rows):
        part = slice(first, first + rows)
        # A power of two scales without rounding, so the product comes out in grid units, most similar first.
        scaled = functional.normalize(queries[part].to(dtype), dim=1, eps=1e-12) * -GRID[dtype]
        keys = (scaled @ unit.T).round_().to(KEY[dtype])
        keys <<= codes.bits
        keys |= _pair_codes(labels[part], gallery_labels, codes)
        if own is not None:
            there = (own[part] >= 0).nonzero()[:, 0]
            last = torch.iinfo(keys.dtype).max >> codes.bits << codes.bits
            keys[there, own[part][there]] = last
        ranked = sort_rows(keys).bitwise_and_(2**codes.bits - 1)
        step = -(-len(ranked) // max(1, int(ranked.count_nonzero()) // ITEMS))
        for few in ranked.split(step):
            yield slice(first, first + len(few)), RankedBlock.of(few, codes)
            first += len(few)


def sort_rows(keys: Tensor) -> Tensor:
    """Each row ascending. On the CPU numpy's vectorised sort, rows shared between torch's number of threads."""
    if keys.device.type != "cpu":
        return keys.sort(dim=1).values
    table, workers = keys.numpy(), torch.get_num_threads()
    if workers == 1 or table.size < 2**16:
        table.sort(axis=1)
        return keys
    step = -(-len(table) // workers)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda first: table[first : first + step].sort(axis=1), range(0, len(table), step)))
    return keys


def _pair_codes(labels: Tensor, columns: Tensor, codes: Codes) -> Tensor:
    """``[b, G]`` codes of labels ``[b, L]`` against gallery columns ``[L, G]``."""
    width = torch.uint8 if codes.bits <= 7 else torch.int32
    total = torch.zeros(len(labels), columns.shape[1], dtype=width, device=labels.device)
    for level, column in enumerate(columns):
        same = labels[:, level, None] == column[None]
        total += same if codes.tree else same.to(width) << level
    if codes.tree:
        return total
    weight = 1 << torch.arange(codes.depth, device=labels.device)
    code_of = torch.empty(codes.match.shape[1], dtype=torch.int32, device=labels.device)
    code_of[(codes.match * weight[:, None]).sum(0)] = torch.arange(len(code_of), dtype=torch.int32).to(labels.device)
    return code_of[total.long()]


def _dtype(queries: Tensor, gallery: Tensor, bits: int) -> torch.dtype:
    """float64 where it was asked for, is cheap (small sets, CUDA, where it also leaves TF32 aside) or needed."""
    asked = torch.float64 in (queries.dtype, gallery.dtype)
    cheap = len(queries) * len(gallery) <= EXACT or queries.device.type == "cuda"
    return torch.float64 if asked or cheap or bits > SPARE[torch.float32] else torch.float32


def _renumber(labels: Tensor, gallery_labels: Tensor) -> tuple[Tensor, Tensor]:
    """The same classes as small int32 numbers, column by column: ids may be of any size."""
    columns = torch.cat([labels, gallery_labels])
    small = [column.unique(return_inverse=True)[1].int() for column in columns.T]
    return torch.stack(small, 1).split([len(labels), len(gallery_labels)])


def _is_tree(labels: Tensor) -> bool:
    """Whether every class lies under one parent."""
    for level in range(labels.shape[1] - 1):
        if len(labels[:, level : level + 2].unique(dim=0)) > len(labels[:, level].unique()):
            return False
    return True
