"""Recall@k between images and captions, in both directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import host, send
from trainers.errors import UserError
from trainers.metrics.bitmasks import CORRECT
from trainers.metrics.checks import read_checked
from trainers.metrics.topk import best_keys, norms, precision, query_blocks


def recall_both_ways(
    images: Tensor,
    captions: Tensor,
    owner: Tensor,
    *,
    ks: Sequence[int] = (1, 5, 10),
    texts: Tensor | None = None,
) -> dict[str, np.ndarray]:
    """Compute whether an image's caption, or a caption's image, is among the first k by cosine similarity.

    Equal similarities: wrong ones come first.

    Args:
        images: ``[N, D]`` floating, raw; captions: ``[M, D]`` floating, raw.
        owner: int64 ``[M]``, the image of each caption.
        ks: cut-offs; larger ones than there are answers find all.
        texts: int64 ``[M]`` from 0, equal for equal captions: then a caption is right for every image that it is
            written under. None: only its own row is right.

    Returns:
        ``i2t_R_at_k`` float64 ``[N]`` (NaN: the image has no caption) and ``t2i_R_at_k`` ``[M]``, 0 or 1.

    Raises:
        UserError: shapes do not fit, an owner is no image or values are not finite.
    """
    count = len(images)
    fits = images.dim() == 2 and captions.dim() == 2 and images.shape[1] == captions.shape[1]
    if not fits or owner.shape != (len(captions),) or not len(captions) or not ks or min(ks) < 1:
        raise UserError(
            f"Images [N, D], captions [M, D], one owner per caption and cut-offs from 1 are needed; got "
            f"{list(images.shape)}, {list(captions.shape)}, {list(owner.shape)} and {list(ks)}."
        )
    owners = host(owner)
    if owners.min() < 0 or owners.max() >= count:
        raise UserError(f"Owners are images 0 to {count - 1}; got {owners.min()} to {owners.max()}.")
    said, each = np.arange(len(owners)) if texts is None else host(texts), np.arange(count)
    with torch.no_grad():
        there = _recalls(images, captions, each, owners, said, said, ks)
        back = _recalls(captions, images, said, said, owners, each, ks)
    silent = np.ones(count, np.bool_)
    silent[owners] = False
    recalls = {f"i2t_R_at_{k}": np.where(silent, np.nan, value) for k, value in there.items()}
    return {**recalls, **{f"t2i_R_at_{k}": value for k, value in back.items()}}


def numbered(texts: Sequence[str]) -> Tensor:
    """Return int64 ``[M]`` from 0, equal for equal captions: the ``texts`` of :func:`recall_both_ways`."""
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(text, len(numbers)) for text in texts], dtype=torch.int64)


def _recalls(
    queries: Tensor,
    gallery: Tensor,
    asker: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    kind: np.ndarray,
    ks: Sequence[int],
) -> dict[int, np.ndarray]:
    """Return Recall@k of each query. An item of kind b is right for asker a if some ``(left, right)`` is ``(a, b)``."""
    dtype, device, kinds = precision(queries, gallery), queries.device, int(max(kind.max(), right.max())) + 1
    asking, length = norms(queries, dtype, "queries"), norms(gallery, dtype, "gallery")
    most, sent, hits = min(max(ks), len(gallery)), send(kind, device), []
    for part in query_blocks(len(queries), kinds):
        distinct, column = np.unique(asker[part], return_inverse=True)
        index = np.searchsorted(distinct, left).clip(max=len(distinct) - 1)
        asked = distinct[index] == left
        table = np.zeros((kinds, len(distinct)), np.uint8)
        table[right[asked], index[asked]] = CORRECT
        unit = functional.normalize(queries[part].to(dtype), dim=1, eps=1e-12)
        verdicts, _ = best_keys(unit, gallery, length, sent, send(table, device)[:, send(column, device)], most)
        hits.append(verdicts == CORRECT)
    table = read_checked(torch.cat(hits).long(), queries=asking, gallery=length).astype(np.bool_)
    return {k: np.any(table[:, :k], 1).astype(np.float64) for k in sorted(set(ks))}
