"""The queries of a measurement: each as it is, without its object, with nothing but its object, and the controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trainers.data import cache
from trainers.data.synthetic.engine.digest import code_digest
from trainers.errors import DataError, UserError
from trainers.object_removal.fills import FILLS
from trainers.object_removal.fills.base import FillDescriptor, paint
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.parameters import entry
from trainers.progress import Progress, silent

WHOLE, PLACEBO, SILHOUETTE, WITHOUT, ALONE = "whole", "placebo", "silhouette", "without", "alone"
TITLES = {
    WHOLE: "whole image",
    PLACEBO: "as much filled beside the object",
    SILHOUETTE: "object filled flat",
    WITHOUT: "background alone",
    ALONE: "object alone",
}
"""The forms of a query in words, in order."""
MOST_COVERED = 0.9
"""Share of an image above which an object leaves no background to speak of."""
RERENDER, TELEA, MEAN = "rerender", "telea", "mean"
_KIND = "object_queries"  # of the entries of the disk cache
_HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Queries:
    """Q queries.

    Attributes:
        indices: int64 ``[Q]``, ascending, where each stands in the gallery.
        forms: uint8 ``[Q, C, S, S]`` each, by the names of :data:`TITLES`.
        fill: what was put in the place of the object; ``placebo_fill`` beside it, for the placebo.
        placebo: bool ``[Q]``, whether a query has a placebo: a place beside its object that is as large, and filled.
        notes: sentences about what was left out.
        key: equal where the pixels of all forms are, and the code that makes and scores them.
    """

    indices: np.ndarray
    forms: Mapping[str, Tensor]
    fill: str
    placebo_fill: str
    placebo: np.ndarray
    notes: tuple[str, ...]
    key: str

    def __len__(self) -> int:
        return len(self.indices)


def make_queries(
    objects: ObjectImages, *, fill: str | None, queries: int, seed: int, progress: Progress = silent
) -> Queries:
    """Choose queries at random and make their forms, or read them from the disk cache.

    A query has an object that covers at most :data:`MOST_COVERED` of it, and another image of its class to find. The
    object is drawn away where the dataset can be drawn again, and else filled. For the object alone, everything else
    gets the mean colour of the gallery, which says nothing about the one image; for the silhouette the object does.

    Args:
        fill: name of the fill; None: drawn again where that can be done, else :data:`TELEA`.
        queries: most of them.
        progress: told how many are done; it may raise to stop.

    Raises:
        DataError: no image can be a query, or the fill cannot be used here.
    """
    name = fill or (TELEA if objects.redrawn is None else RERENDER)
    descriptor = entry(FILLS, name, "fill")
    if descriptor.redraw is not None and objects.redrawn is None:
        raise DataError(descriptor.unfit(None) or "")
    reason = descriptor.lacking()
    if reason is not None:
        raise UserError(reason)
    indices, masks, notes = _choose(objects, queries, seed)
    placebo = _placebo_fill(descriptor)
    code = code_digest(_HERE)
    key = cache.content_key(("queries", code, objects.key, name, placebo.name, indices.tobytes(), queries, seed))
    kept = cache.read(_KIND, key)
    if kept is None:
        tensors = _forms(objects, indices, masks, (descriptor, placebo), progress)
        cache.write(_KIND, key, tensors)
    else:
        tensors = kept.tensors
    good, free = tensors["good"].numpy(), tensors["beside"].numpy()
    if not good.any():
        raise DataError(f"The object could be removed from none of {len(good)} images. Choose another fill.")
    return Queries(
        indices=indices[good],
        forms={each: tensors[each][tensors["good"]] for each in TITLES if each in tensors},
        fill=name,
        placebo_fill=placebo.name,
        placebo=free[good],
        notes=(*notes, *_lacking(good, free)),
        key=key,
    )


def _lacking(good: np.ndarray, free: np.ndarray) -> list[str]:
    """Return what could not be filled, as sentences."""
    without, covered = int((~good).sum()), int((~free[good]).sum())
    notes = [f"From {without} images the object could not be removed."] if without else []
    if covered:
        notes.append(f"Without a placebo: {covered} queries, as the object covers more than half or no fill works.")
    return notes


def _placebo_fill(fill: FillDescriptor) -> FillDescriptor:
    """Return the same fill, or one for photographs: an area without an object cannot be drawn again."""
    if fill.redraw is None:
        return fill
    usual = entry(FILLS, TELEA, "fill")
    return entry(FILLS, MEAN, "fill") if usual.lacking() else usual


def _choose(objects: ObjectImages, queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Choose the queries: indices, masks bool ``[Q, S, S]`` and what was left out."""
    _, inverse, counts = np.unique(objects.labels[:, 0], return_inverse=True, return_counts=True)
    findable = counts[inverse.reshape(-1)] > 1
    order = np.random.default_rng(seed).permutation(len(objects))
    chosen: list[int] = []
    masks, bare, full, alone = [], 0, 0, 0
    for first in range(0, len(order), 256):  # masks may have to be drawn: no more of them than are needed
        part = order[first : first + 256]
        for index, mask in zip(part.tolist(), objects.masks(part), strict=True):
            if len(chosen) == queries:
                break
            share = float(mask.mean())
            bare += share == 0
            full += share > MOST_COVERED
            alone += bool(0 < share <= MOST_COVERED and not findable[index])
            if 0 < share <= MOST_COVERED and findable[index]:
                chosen.append(index)
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
    objects: ObjectImages,
    indices: np.ndarray,
    masks: np.ndarray,
    fills: tuple[FillDescriptor, FillDescriptor],
    progress: Progress,
) -> dict[str, Tensor]:
    """Make the forms; ``good``: which queries lost their object, ``beside``: which have a placebo, bool ``[Q]``."""
    whole = objects.images[torch.from_numpy(indices)]
    colour = mean_colour(objects.images)[None, :, None, None]
    mask = torch.from_numpy(masks)[:, None]
    forms = {WHOLE: whole, ALONE: torch.where(mask, whole, colour), SILHOUETTE: torch.where(mask, colour, whole)}
    fill, placebo_fill = fills
    without: list[Tensor | None] = []
    placebo: list[Tensor | None] = []
    for at in range(len(indices)):
        progress(f"removing objects: {at:,} of {len(indices):,}", at / len(indices))
        if fill.redraw is not None and objects.redrawn is not None:
            without.append(objects.redrawn(indices[at : at + 1])[0])
        else:
            without.append(_filled(whole[at], masks[at], fill))
        free = beside(masks[at])
        placebo.append(None if free is None else _filled(whole[at], free, placebo_fill))
    for form, images in ((WITHOUT, without), (PLACEBO, placebo)):
        forms[form] = torch.stack([whole[at] if image is None else image for at, image in enumerate(images)])
    forms["good"] = torch.tensor([image is not None for image in without])
    forms["beside"] = torch.tensor([image is not None for image in placebo])
    return forms


def _filled(image: Tensor, mask: np.ndarray, fill: FillDescriptor) -> Tensor | None:
    try:
        return filled(image, mask, fill)
    except Exception:  # one image that a fill cannot work on must not cost the others
        return None


def filled(image: Tensor, mask: np.ndarray, fill: FillDescriptor) -> Tensor:
    """Paint over the object under ``mask`` in an image uint8 ``[C, S, S]``.

    Raises:
        UserError: the mask covers everything, or the fill cannot be used.
    """
    colour = np.ascontiguousarray(image.expand(3, -1, -1).permute(1, 2, 0).numpy())
    painted = paint(fill, colour, mask)
    return torch.from_numpy(np.ascontiguousarray(painted.transpose(2, 0, 1)))[: len(image)]


def mean_colour(images: Tensor) -> Tensor:
    """Return the mean colour uint8 ``[C]`` of at most 2,000 images spread over a gallery uint8 ``[N, C, S, S]``."""
    rows = torch.linspace(0, len(images) - 1, min(len(images), 2000)).long()
    return images[rows].double().mean(dim=(0, 2, 3)).round().to(torch.uint8)


def beside(mask: np.ndarray) -> np.ndarray | None:
    """Choose as many pixels as an object has, none of them its own: bool ``[S, S]``; None: it covers more than half.

    They are its shape moved to where it overlaps the object least, sideways if that will do, and going on at the
    opposite edge; pixels far from the object make up for what overlaps.
    """
    area = int(mask.sum())
    if 2 * area > mask.size:
        return None
    spectrum = np.fft.rfft2(mask.astype(np.float64))
    overlap = np.rint(np.fft.irfft2(np.abs(spectrum) ** 2, s=mask.shape)).astype(np.int64)
    down, right = (np.minimum(np.arange(side), side - np.arange(side)) for side in mask.shape)
    ranked = np.lexsort((np.tile(-right, len(down)), np.repeat(down, len(right)), overlap.ravel()))
    moved: np.ndarray = np.roll(mask, np.unravel_index(ranked[0], mask.shape), (0, 1)) & ~mask
    lacking = area - int(moved.sum())
    if lacking:
        from scipy.ndimage import distance_transform_edt  # half a second, which the start of the page does without

        far = np.where(mask | moved, -1.0, distance_transform_edt(~mask)).ravel()
        moved.ravel()[np.argsort(-far, kind="stable")[:lacking]] = True
    return moved
