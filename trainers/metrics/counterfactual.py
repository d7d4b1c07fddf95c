"""ODmAP@k: whether retrieved captions stop naming an object that was removed from the image (Kim et al. 2023, 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import host, send
from trainers.errors import UserError
from trainers.metrics.bitmasks import CORRECT, CaptionMasks, Judged, pack
from trainers.metrics.catalogue import family
from trainers.metrics.checks import read_checked
from trainers.metrics.topk import best_keys, norms, precision, query_blocks


@dataclass(frozen=True, kw_only=True)
class Counterfactual:
    """Scores and retrieved captions of every query.

    Attributes:
        values: ``ODmAP_at_k``, ``hallucination_at_k`` and ``present_at_k`` (0 to 1) to float64 ``[Q]``. NaN: the query
            is left out of that mean.
        top: int64 ``[Q, K]``, places of the best captions, best first; K is the largest k that fits the gallery.
        verdicts: uint8 ``[Q, K]``, see :data:`trainers.metrics.bitmasks.CORRECT`.
        counts: ``queries``; out of ODmAP, each under the first that holds: ``skipped_nothing_removed``,
            ``skipped_nothing_present``, ``skipped_no_correct_sentence``; ``fewer_than_k_correct`` for the largest k;
            ``distinct_top1``, different first answers, the fewer the more hubs.
    """

    values: dict[str, np.ndarray]
    top: np.ndarray
    verdicts: np.ndarray
    counts: dict[str, int]


def counterfactual(
    queries: Tensor,
    gallery: Tensor,
    mentions: Tensor,
    present: Tensor,
    removed: Tensor,
    *,
    ks: Sequence[int] = (1, 5, 10),
) -> Counterfactual:
    """Score object-removed images against captions by cosine similarity.

    A caption is correct when it names no removed class and at least one class that is still there. Naming a class
    that was never in the image is no mistake. Equal similarities: the worse caption comes first. Memory is bounded
    by blocks; besides the inputs it takes a few hundred MB whatever their size.

    Args:
        queries: ``[Q, D]`` floating, raw, the images without the object; CPU or CUDA, which is waited for once, at the
            end.
        gallery: ``[G, D]`` floating, raw, the captions; may be float16.
        mentions: bool ``[G, C]``, classes each caption names; best on the CPU, as the next two.
        present, removed: bool ``[Q, C]``, classes left in the image and classes taken out (all of them: our reading,
            the formula names one).
        ks: cut-offs; larger than G are cut to G.

    Raises:
        UserError: shapes do not fit, values are not finite, a class is both present and removed, or a k is below 1.
    """
    _check(queries, gallery, mentions, present, removed, ks)
    asked = tuple(sorted({min(k, len(gallery)) for k in ks}))
    named, here, gone = (host(table, np.bool_) for table in (mentions, present, removed))
    with torch.no_grad(), torch.autocast(device_type=queries.device.type, enabled=False):
        verdicts, top, right = _search(queries, gallery, CaptionMasks.of(named), pack(here), pack(gone), asked[-1])
    judged = Judged(verdicts=verdicts, relevant=right, removed=np.any(gone, 1), present=np.any(here, 1))
    counts = _counts(judged, asked[-1])
    counts["distinct_top1"] = len(np.unique(top[:, 0]))
    return Counterfactual(values=_values(judged, asked), top=top, verdicts=verdicts, counts=counts)


def before_removal(result: Counterfactual) -> dict[str, np.ndarray]:
    """Return the rates of original images, as a reference: how often what will be removed is named, and what will
    remain.

    Args:
        result: of the original images, scored with the classes that will be removed.

    Returns:
        ``original_names_at_k`` and ``original_present_at_k`` to float64 ``[Q]``.
    """
    names = {"hallucination_at_": "original_names_at_", "present_at_": "original_present_at_"}
    return {
        name.replace(old, new): values
        for name, values in result.values.items()
        for old, new in names.items()
        if name.startswith(old)
    }


def _search(
    queries: Tensor,
    gallery: Tensor,
    captions: CaptionMasks,
    here: np.ndarray,
    gone: np.ndarray,
    k: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the verdicts uint8 and places int64 ``[Q, k]`` of the best captions, and correct ones in the gallery
    ``[Q]``.

    Args:
        here, gone: int64 ``[Q, W]``, the masks of what is present and of what was removed.
    """
    dtype, device, parts = precision(queries, gallery), queries.device, []
    asking, length = norms(queries, dtype, "queries"), norms(gallery, dtype, "captions")
    kind, counts = send(captions.kind, device), send(captions.counts, device)
    for part in query_blocks(len(queries), len(captions.masks)):
        unit = functional.normalize(queries[part].to(dtype), dim=1, eps=1e-12)
        table = captions.verdicts(here[part], gone[part], device)
        right = ((table == CORRECT) * counts[:, None]).sum(0)
        verdicts, top = best_keys(unit, gallery, length, kind, table, k)
        parts.append(torch.cat([verdicts.long(), top, right[:, None]], 1))
    read = read_checked(torch.cat(parts), queries=asking, captions=length)
    return read[:, :k].astype(np.uint8), read[:, k:-1].copy(), read[:, -1].copy()


def _values(judged: Judged, ks: Sequence[int]) -> dict[str, np.ndarray]:
    """Compute every metric of judged captions at every cut-off."""
    judges = {name.removesuffix("k"): measure.judge for name, measure in family("image_text").items()}
    return {f"{name}{k}": judge(judged, k) for k in ks for name, judge in judges.items() if judge is not None}


def _counts(judged: Judged, k: int) -> dict[str, int]:
    removed, present, relevant = judged.removed, judged.present, judged.relevant
    return {
        "queries": len(relevant),
        "skipped_nothing_removed": int((~removed).sum()),
        "skipped_nothing_present": int((removed & ~present).sum()),
        "skipped_no_correct_sentence": int((removed & present & (relevant == 0)).sum()),
        "fewer_than_k_correct": int((judged.scored & (relevant < k)).sum()),
    }


def _check(
    queries: Tensor,
    gallery: Tensor,
    mentions: Tensor,
    present: Tensor,
    removed: Tensor,
    ks: Sequence[int],
) -> None:
    tables = {"mentions": (mentions, gallery), "present": (present, queries), "removed": (removed, queries)}
    if queries.dim() != 2 or gallery.dim() != 2 or queries.shape[1] != gallery.shape[1]:
        raise UserError(
            f"Queries [Q, D] and captions [G, D] are needed; got {list(queries.shape)} and {list(gallery.shape)}."
        )
    for name, (table, rows) in tables.items():
        shape = [len(rows), mentions.shape[-1]]
        if list(table.shape) != shape or table.dtype != torch.bool:
            raise UserError(f"{name} must be a true/false table {shape}; got {table.dtype} {list(table.shape)}.")
    if not len(queries) or not len(gallery):
        raise UserError(f"At least one query and one caption are needed; got {len(queries)} and {len(gallery)}.")
    if not ks or min(ks) < 1:
        raise UserError(f"Cut-offs of 1 or more are needed; got {list(ks)}.")
    if (host(present, np.bool_) & host(removed, np.bool_)).any():
        raise UserError("A class cannot be both present and removed; take the removed classes out of `present`.")
