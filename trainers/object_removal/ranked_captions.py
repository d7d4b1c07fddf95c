"""The captions that a model retrieves for an image before and after a removal, ranked and judged as ODmAP does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from trainers.data.captioned_images import NamedPhrase
from trainers.metrics.bitmasks import CORRECT
from trainers.metrics.counterfactual import counterfactual
from trainers.object_removal.gallery import CaptionGallery
from trainers.object_removal.pairs import class_tables
from trainers.object_removal.regions import Judgement
from trainers.object_removal.vocabulary import Matcher

VERDICTS = ("names removed", "names removed", "names nothing present", "correct")
"""Words for the codes of :mod:`trainers.metrics.bitmasks`, 0 to 3."""


def parts(text: str, matcher: Matcher, present: Collection[str], removed: Collection[str]) -> list[dict[str, Any]]:
    """Cut a caption around everything that names a class; together the texts of the parts are the caption.

    ``kind`` is ``removed`` if one of a part's ``classes`` was removed, ``present`` if one is there, else None. Where
    two overlap, what names a removed class is shown.
    """
    marks = [(_kind(phrase.classes, present, removed), phrase) for phrase in matcher.shown(text)]
    taken: list[tuple[str, NamedPhrase]] = []
    for kind, phrase in sorted(marks, key=lambda mark: (mark[0] != "removed", mark[1].start)):
        if kind is not None and all(phrase.end <= other.start or other.end <= phrase.start for _, other in taken):
            taken.append((kind, phrase))
    pieces, last = [], 0
    for kind, phrase in sorted(taken, key=lambda mark: mark[1].start):
        pieces.append(_part(text[last : phrase.start]))
        pieces.append(_part(text[phrase.start : phrase.end], kind, sorted(phrase.classes)))
        last = phrase.end
    pieces.append(_part(text[last:]))
    return [part for part in pieces if part["text"]] or [_part("")]


def _part(text: str, kind: str | None = None, classes: Sequence[str] = ()) -> dict[str, Any]:
    return {"text": text, "kind": kind, "classes": list(classes)}


UNKNOWN = "unknown"
"""The verdict on a caption that names nothing removed, where nobody has said what else is in the image."""


def verdict(code: int, original: bool = False, known: bool = True) -> str:
    """Put a verdict in words; on an image with nothing removed a caption fits or names nothing present.

    Args:
        known: something that stays in the image is known.
    """
    if original:
        return "fits" if code == CORRECT else "names nothing present"
    return VERDICTS[code] if known or VERDICTS[code] == VERDICTS[0] else UNKNOWN


def _kind(classes: Collection[str], present: Collection[str], removed: Collection[str]) -> str | None:
    if any(name in removed for name in classes):
        return "removed"
    return "present" if any(name in present for name in classes) else None


def ranked(
    gallery: CaptionGallery, vectors: Tensor, queries: Tensor, judgement: Judgement, k: int, *, annotated: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rank the captions: the ``k`` nearest of the original and of the image without the object.

    Args:
        gallery: G captions; must know every class of the judgement.
        vectors: float32 ``[G, D]``.
        queries: float32 ``[2, D]``, original and filled.
        judgement: what was removed and what stays.
        k: at most G.
        annotated: all that is in the image is known, as in a dataset; of others nothing may be.
    """
    whole = replace(judgement, kept=(*judgement.kept, *judgement.removed), removed=())
    present, removed = map(torch.from_numpy, class_tables([whole, judgement], gallery.matcher.classes))
    result = counterfactual(queries, vectors, torch.from_numpy(gallery.mentions), present, removed, ks=(k,))
    both = []
    for row, of in enumerate((whole, judgement)):
        similarity = (vectors[result.top[row]] @ queries[row]).tolist()
        both.append(
            [
                {
                    "row": int(row_of_caption),
                    "text": gallery.texts[row_of_caption],
                    "similarity": round(float(near), 4),
                    "verdict": verdict(int(code), original=row == 0, known=annotated or bool(of.kept)),
                    "move": None,
                    "parts": parts(gallery.texts[row_of_caption], gallery.matcher, of.kept, of.removed),
                }
                for row_of_caption, near, code in zip(result.top[row], similarity, result.verdicts[row], strict=True)
            ]
        )
    return both[0], both[1]


def compared(
    gallery: CaptionGallery, vectors: Tensor, queries: Tensor, judgement: Judgement, k: int, *, annotated: bool = True
) -> dict[str, Any]:
    """Compare the lists of :func:`ranked`: how far each caption moved, which entered and which left."""
    original, removed = ranked(gallery, vectors, queries, judgement, k, annotated=annotated)
    before, after = ([line.pop("row") for line in rows] for rows in (original, removed))
    ranks = {row: rank for rank, row in enumerate(before)}
    for rank, (row, line) in enumerate(zip(after, removed, strict=True)):
        line["move"] = ranks[row] - rank if row in ranks else "new"
    return {
        "original": original,
        "removed": removed,
        "entered": [rank for rank, row in enumerate(after) if row not in ranks],
        "left": [rank for rank, row in enumerate(before) if row not in after],
    }
