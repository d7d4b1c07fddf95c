"""The queries of a measurement: each as it is, without its object, and with nothing but its object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.background.objects import ELSEWHERE, EMPTY, ObjectImages
from trainers.data import cache
from trainers.data.base import Progress, silent
from trainers.errors import DataError, UserError
from trainers.object_removal.fills import FILLS
from trainers.object_removal.fills.base import FillDescriptor, paint
from trainers.parameters import entry

WHOLE, WITHOUT, ALONE, MOVED = "whole", "without", "alone", "elsewhere"
TITLES = {
    WHOLE: "whole image",
    WITHOUT: "background alone",
    ALONE: "object alone",
    MOVED: "object before another background",
}
"""The forms of a query in words, in order."""
MOST_COVERED = 0.9
"""Share of an image above which an object leaves no background to speak of."""
RERENDER, TELEA = "rerender", "telea"
_KIND = "object_queries"  # of the entries of the disk cache


@dataclass(frozen=True, kw_only=True)
class Queries:
    """Q queries.

    Attributes:
        places: int64 ``[Q]``, ascending, where each stands in the gallery.
        forms: uint8 ``[Q, C, S, S]`` each, by the names of :data:`TITLES`.
        covered: float32 ``[Q]``, share of the image that the object covers.
        fill: what was put in the place of the object.
        notes: sentences about what was left out.
        key: equal where the pixels of all forms are.
    """

    places: np.ndarray
    forms: Mapping[str, Tensor]
    covered: np.ndarray
    fill: str
    notes: tuple[str, ...]
    key: str

    def __len__(self) -> int:
        return len(self.places)


def make_queries(
    objects: ObjectImages, *, fill: str | None, queries: int, seed: int, progress: Progress = silent
) -> Queries:
    """Choose queries at random and make their forms, or read them from the disk cache.

    A query has an object that covers at most :data:`MOST_COVERED` of it, and another image of its class to find. The
    object is drawn away where the dataset can be drawn again, and else filled. For the object alone, everything else
    gets the mean colour of the gallery, which says nothing about the one image.

    Args:
        fill: name of the fill; None: drawn again where that can be done, else :data:`TELEA`.
        queries: most of them.
        progress: told how many are done; it may raise to stop.

    Raises:
        DataError: no image can be a query, or the fill cannot be used here.
    """
    name = fill or (RERENDER if EMPTY in objects.redrawn else TELEA)
    descriptor = entry(FILLS, name, "fill")
    if descriptor.redraw is not None and EMPTY not in objects.redrawn:
        raise DataError(descriptor.unfit(None) or "")
    reason = descriptor.lacking()
    if reason is not None:
        raise UserError(reason)
    places, masks, notes = _choose(objects, queries, seed)
    key = cache.content_key(("queries", objects.key, name, places.tobytes()))
    kept = cache.read(_KIND, key)
    if kept is None:
        forms, good = _forms(objects, places, masks, descriptor, progress)
        tensors = {**forms, "good": torch.from_numpy(good)}
        cache.write(_KIND, key, tensors)
    else:
        tensors = kept.tensors
        forms, good = {each: tensors[each] for each in TITLES if each in tensors}, tensors["good"].numpy()
    if not good.any():
        raise DataError(f"The object could be removed from none of {len(good)} images. Choose another fill.")
    if not good.all():
        notes = (*notes, f"From {int((~good).sum())} images the object could not be removed.")
    return Queries(
        places=places[good],
        forms={each: values[torch.from_numpy(good)] for each, values in forms.items()},
        covered=masks[good].mean(axis=(1, 2)).astype(np.float32),
        fill=name,
        notes=notes,
        key=key,
    )


def _choose(objects: ObjectImages, queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Places, masks bool ``[Q, S, S]`` and what was left out."""
    _, inverse, counts = np.unique(objects.labels[:, 0], return_inverse=True, return_counts=True)
    findable = counts[inverse.reshape(-1)] > 1
    order = np.random.default_rng(seed).permutation(len(objects))
    chosen, masks, bare, full, alone = [], [], 0, 0, 0
    for first in range(0, len(order), 256):  # masks may have to be drawn: no more of them than are needed
        part = order[first : first + 256]
        for place, mask in zip(part.tolist(), objects.masks(part), strict=True):
            if len(chosen) == queries:
                break
            share = float(mask.mean())
            bare += share == 0
            full += share > MOST_COVERED
            alone += bool(0 < share <= MOST_COVERED and not findable[place])
            if 0 < share <= MOST_COVERED and findable[place]:
                chosen.append(place)
                masks.append(mask)
        if len(chosen) == queries:
            break
    notes = [
        f"Not among the queries: {count} images {why}."
        for count, why in (
            (bare, "without a known object"),
            (full, f"whose object covers more than {MOST_COVERED:.0%} of them"),
            (alone, "that are the only one of their class"),
        )
        if count
    ]
    if not chosen:
        raise DataError(f"No image of {objects.title} can be a query. " + " ".join(notes))
    ascending = np.argsort(chosen)
    return np.array(chosen)[ascending], np.stack(masks)[ascending], tuple(notes)


def _forms(
    objects: ObjectImages, places: np.ndarray, masks: np.ndarray, fill: FillDescriptor, progress: Progress
) -> tuple[dict[str, Tensor], np.ndarray]:
    """The forms, and which queries lost their object, bool ``[Q]``."""
    whole = objects.images[torch.from_numpy(places)]
    colour = mean_colour(objects.images)
    mask = torch.from_numpy(masks)[:, None]
    forms = {WHOLE: whole, ALONE: torch.where(mask, whole, colour[None, :, None, None])}
    good = np.ones(len(places), dtype=bool)
    exact = fill.redraw is not None
    without = []
    for at in range(len(places)):
        progress(f"removing objects: {at:,} of {len(places):,}", at / len(places))
        if exact:
            without.append(objects.redrawn[EMPTY](places[at : at + 1])[0])
            continue
        try:
            without.append(filled(whole[at], masks[at], fill))
        except Exception:  # one image that a fill cannot work on must not cost the others
            without.append(whole[at])
            good[at] = False
    forms[WITHOUT] = torch.stack(without)
    if ELSEWHERE in objects.redrawn:
        progress("drawing the objects before another background", 1.0)
        forms[MOVED] = objects.redrawn[ELSEWHERE](places)
    return forms, good


def filled(image: Tensor, mask: np.ndarray, fill: FillDescriptor) -> Tensor:
    """An image uint8 ``[C, S, S]`` with the object under ``mask`` painted over.

    Raises:
        UserError: the mask covers everything, or the fill cannot be used.
    """
    colour = np.ascontiguousarray(image.expand(3, -1, -1).permute(1, 2, 0).numpy())
    painted = paint(fill, colour, mask)
    return torch.from_numpy(np.ascontiguousarray(painted.transpose(2, 0, 1)))[: len(image)]


def mean_colour(images: Tensor) -> Tensor:
    """Mean colour of a gallery uint8 ``[N, C, S, S]``, of at most 2,000 images spread over it: uint8 ``[C]``."""
    rows = torch.linspace(0, len(images) - 1, min(len(images), 2000)).long()
    return images[rows].double().mean(dim=(0, 2, 3)).round().to(torch.uint8)
