"""Embeddings to ranked lists, block by block of queries, in bounded memory.

Each similarity becomes a whole number on a fixed grid with the pair's code in its low bits, so that one sort of keys
gives order and relevance at once. Similarities that fall on the same grid point are ties; among them **the less
relevant item comes first**, in every metric. So ties never help: the result depends on no order of the gallery, and a
collapsed network scores as badly as it ranks. The grid, 2^-24 in float32 and 2^-44 in float64, is about the rounding
error of the product in float32 and far above it in float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import send
from trainers.errors import UserError
from trainers.metrics.ranked_lists import Codes, RankedBlock

BLOCK = 2**23  # similarities held at once
SHALLOW = 6  # levels of a label table without a tree up to which relevant items are counted by inclusion-exclusion
ITEMS = 2**18  # relevant items scored at once: their columns stay in the processor's cache
EXACT = 2**23  # up to so many pairs the product is done in float64, which then costs little
CLOSE = 2.0**-10  # of cosines that differ by less in the mean the product is done in float64, whatever it costs
GRID = {torch.float32: 2.0**24, torch.float64: 2.0**44}
KEY = {torch.float32: torch.int32, torch.float64: torch.int64}
SPARE = {torch.float32: 6, torch.float64: 18}  # bits left for the code


def legend(labels: np.ndarray, gallery_labels: np.ndarray, device: torch.device) -> Codes:
    """Choose the codes: the level itself for a tree, else one code per combination of equal columns.

    Args:
        labels: ``[Q, L]``; gallery_labels: ``[G, L]``, both with small numbers.
        device: where the codes will be looked up.
    """
    return codes_of(labels.shape[1], device, tree=_is_tree([labels, gallery_labels]))


def codes_of(depth: int, device: torch.device, *, tree: bool) -> Codes:
    """Return the codes of labels of ``depth`` levels; ``tree``: who agrees at a level agrees at every coarser one.

    Raises:
        UserError: they are no tree and have too many levels.
    """
    if tree:
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
    queries: Tensor,
    labels: np.ndarray,
    gallery: Tensor,
    gallery_labels: np.ndarray,
    self_index: np.ndarray | None,
    apart: tuple[np.ndarray, np.ndarray] | None = None,
) -> Iterator[tuple[slice, RankedBlock]]:
    """Rank the gallery for each query, a block of queries at a time. A GPU is waited for nowhere.

    Args:
        queries: ``[Q, D]`` raw; gallery: ``[G, D]`` raw, on the same device.
        labels: ``[Q, L]``, finest first; gallery_labels: ``[G, L]``.
        self_index: int64 ``[Q]``, the gallery row of each query, -1 for none; None: none has one. It is taken out by
            index: it goes to the end of its list as an irrelevant item, which no metric notices.
        apart: int64 ``[Q]`` and ``[G]``; gallery items that have the number of a query are taken out of its list in
            the same way. They share its finest class. None: there are none.
    """
    labels, gallery_labels = _renumber(labels, gallery_labels)
    codes = legend(labels, gallery_labels, queries.device)
    dtype = _dtype(queries, gallery, codes.bits)
    unit = functional.normalize(gallery.to(dtype), dim=1, eps=1e-12)

    device = queries.device
    rows = max(1, BLOCK // max(len(gallery_labels), 1))
    sizes = relevant(labels, gallery_labels, self_index, tree=codes.tree)
    if apart is not None:
        sizes = None if sizes is None else sizes - _shared(*apart)
        own, others = (send(side, device) for side in apart)
    asked, columns = send(labels, device), send(gallery_labels.T, device)
    for first in range(0, len(labels), rows):
        part = slice(first, min(first + rows, len(labels)))
        # A power of two scales without rounding, so the product comes out in grid units, most similar first.
        scaled = functional.normalize(queries[part].to(dtype), dim=1, eps=1e-12) * -GRID[dtype]
        keys = (scaled @ unit.T).round_()
        keys = keys.to(KEY[keys.dtype])
        keys <<= codes.bits
        keys |= _pair_codes(asked[part], columns, codes)
        last = torch.iinfo(keys.dtype).max >> codes.bits << codes.bits
        if apart is not None:
            keys.masked_fill_(own[part, None] == others, last)
        if self_index is not None:
            there = np.flatnonzero(self_index[part] >= 0)
            row, column = send(np.stack([there, self_index[part][there]]), device)
            keys[row, column] = keys.new_full((), last)
        ranked = sort_rows(keys).bitwise_and_(2**codes.bits - 1)
        counts = ranked.count_nonzero(dim=1).cpu().numpy() if sizes is None else sizes[part]
        step = -(-len(ranked) // max(1, int(counts.sum()) // ITEMS))
        for few in ranked.split(step):
            begin = first - part.start
            yield slice(first, first + len(few)), RankedBlock.of(few, codes, counts[begin : begin + len(few)])
            first += len(few)


def relevant(
    labels: np.ndarray, gallery_labels: np.ndarray, self_index: np.ndarray | None, *, tree: bool
) -> np.ndarray | None:
    """Return how many gallery items share any label column with each query, itself left out: int64 ``[Q]``.

    In a tree those that share the coarsest one; else by inclusion-exclusion over sets of columns, and None where that
    would be too many sets.

    Args:
        labels: ``[Q, L]``; gallery_labels: ``[G, L]``, both with small numbers.
        self_index: as for :func:`ranked_blocks`; the query's own labels are those of its place.
    """
    depth = labels.shape[1]
    if not tree and depth > SHALLOW:
        return None
    counts = np.zeros(len(labels), np.int64)
    chosen = [(depth - 1,)] if tree else [s for k in range(1, depth + 1) for s in combinations(range(depth), k)]
    for columns in chosen:
        name = np.zeros(len(labels) + len(gallery_labels), np.int64)
        for column in columns:
            values = np.concatenate([labels[:, column], gallery_labels[:, column]])
            name = np.unique(name * (values.max(initial=0) + 1) + values, return_inverse=True)[1]
        count = np.bincount(name[len(labels) :], minlength=name.max(initial=0) + 1)
        counts += (-1) ** (len(columns) + 1) * count[name[: len(labels)]]
    return counts if self_index is None else counts - (self_index >= 0)


def _shared(numbers: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Count how many ``others [G]`` have each of the ``numbers [Q]``: int64 ``[Q]``."""
    there = np.sort(others)
    return np.searchsorted(there, numbers, "right") - np.searchsorted(there, numbers, "left")


def sort_rows(keys: Tensor) -> Tensor:
    """Sort each row, ascending. On the CPU numpy's vectorised sort, rows shared between torch's number of threads."""
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
    """Return ``[b, G]`` codes of labels ``[b, L]`` against gallery columns ``[L, G]``."""
    width = torch.uint8 if codes.bits <= 7 else torch.int32
    total = torch.zeros(len(labels), columns.shape[1], dtype=width, device=labels.device)
    for level, column in enumerate(columns):
        same = labels[:, level, None] == column[None]
        total += same if codes.tree else same.to(width) << level
    if codes.tree:
        return total
    weight = 1 << torch.arange(codes.depth, device=labels.device)
    code_of = torch.empty(codes.match.shape[1], dtype=torch.int32, device=labels.device)
    code_of[(codes.match * weight[:, None]).sum(0)] = torch.arange(
        len(code_of), dtype=torch.int32, device=labels.device
    )
    return code_of[total.long()]


def _dtype(queries: Tensor, gallery: Tensor, bits: int) -> torch.dtype:
    """Return float64 where it was asked for, is cheap (small sets, CUDA, where it also leaves TF32 aside) or needed.

    Codes of many bits need it, and cosines that are closer than float32 can tell.
    """
    asked = torch.float64 in (queries.dtype, gallery.dtype)
    cheap = len(queries) * len(gallery) <= EXACT or queries.device.type == "cuda"
    needed = asked or cheap or bits > SPARE[torch.float32] or _are_close(gallery)
    return torch.float64 if needed else torch.float32


def _are_close(gallery: Tensor) -> bool:
    """Return whether cosines of a gallery ``[G, D]`` differ by less than :data:`CLOSE` in the mean."""
    mean = functional.normalize(gallery.float(), dim=1, eps=1e-12).mean(0, dtype=torch.float64)
    return bool(1 - mean.square().sum() < CLOSE)


def _renumber(labels: np.ndarray, gallery_labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber the classes as int32 from 0, column by column: ids may be of any size."""
    both = labels if labels is gallery_labels else np.concatenate([labels, gallery_labels])
    small = np.empty(both.shape, np.int32)
    for level, column in enumerate(both.T):
        small[:, level] = np.unique(column, return_inverse=True)[1].reshape(-1)
    return (small, small) if labels is gallery_labels else (small[: len(labels)], small[len(labels) :])


def _is_tree(tables: Sequence[np.ndarray]) -> bool:
    """Return whether every class lies under one parent. The tables ``[N, L]`` hold small numbers from 0."""
    for level in range(tables[0].shape[1] - 1):
        parent = np.empty(1 + max(table[:, level].max(initial=0) for table in tables), np.int32)
        for table in tables:
            parent[table[:, level]] = table[:, level + 1]
        if any((parent[table[:, level]] != table[:, level + 1]).any() for table in tables):
            return False
    return True
