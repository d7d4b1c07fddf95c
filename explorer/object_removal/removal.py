"""Removing an object from an image: what is removed, what stays, and the image with its place filled."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explorer.object_removal import bodies
from explorer.object_removal.images import InputImage, InputImages, encoded
from explorer.object_removal.strokes import Drawing, read_drawing
from explorer.server.cache import Bound, Cache
from explorer.server.http import GoneError, RequestError
from trainers.errors import DataError
from trainers.object_removal.fills import FillDescriptor, fill_named, paint
from trainers.object_removal.image import Picture
from trainers.object_removal.overlap import ONE_CLASS, TAU2, Judgement, judge
from trainers.object_removal.pairs import scaled_mask
from trainers.object_removal.regions import Regions, pixel_mask
from trainers.object_removal.tokens import tokenise
from trainers.object_removal.vocabulary import WordTable, load_words

NONE_MARKED = (
    "No other object is marked in this image, so no caption can count as correct: only those that name what was "
    "removed are told apart."
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is to be removed.

    Attributes:
        classes: annotated classes, the chosen one first; empty if something was drawn.
        name: what was drawn over, in words.
        drawing: boxes or strokes; None if annotated classes are named.
        words: further words that stand for ``name``.
    """

    classes: tuple[str, ...] = ()
    name: str = ""
    drawing: Drawing | None = None
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: bodies.Removal) -> Target:
        """The target of a request.

        Raises:
            RequestError: it names nothing.
        """
        if asked.classes is not None:
            return cls(classes=tuple(dict.fromkeys(asked.classes)))
        drawing = read_drawing(asked)
        name, longest = " ".join(asked.name.split()), bodies.LONGEST_NAME
        if not tokenise(name) or len(name) > longest:
            raise RequestError(f"Say in words what the object is, in at most {longest} letters, for example: dog.")
        return cls(name=table_name(name, load_words()), drawing=drawing, words=tuple(asked.words or ()))


@dataclass(frozen=True, kw_only=True)
class FilledImage:
    """An image without an object.

    A drawn scene is shown larger than models see it; both sizes are filled, so that a model's answer here is what the
    benchmark counts.

    Attributes:
        key: address of the shown image below ``objects/filled/``.
        original, pixels: uint8 ``[H, W, 3]``, before and after, as models see them.
        target: what was to be removed.
        judgement: what was removed and what stays.
        title: of the fill; milliseconds: what it took.
    """

    key: str
    original: np.ndarray
    pixels: np.ndarray
    target: Target
    judgement: Judgement
    title: str
    milliseconds: float

    def json(self) -> dict[str, Any]:
        """The part of a reply that tells what was done to the image."""
        judgement, drawing = self.judgement, self.target.drawing
        return {
            "filled": self.key,
            "share": round(judgement.share, 4),
            "fill_ms": round(self.milliseconds, 1),
            "fill_title": self.title,
            "chosen": judgement.chosen,
            "removed": list(judgement.removed),
            "kept": list(judgement.kept),
            "case": judgement.case,
            "problems": list(judgement.problems),
            "notes": list(drawing.notes) if drawing is not None else [],
        }


class FilledImages:
    """Removes objects, and keeps the last filled images for the page to fetch.

    Args:
        images: reads the pixels.
        kept: room for filled images.
    """

    def __init__(self, images: InputImages, kept: Bound) -> None:
        self._images = images
        self._kept: Cache[bytes] = Cache(limit=kept, cost=len)

    def png(self, key: str) -> bytes:
        """A filled image as a PNG file.

        Raises:
            GoneError: it is no longer kept.
        """
        return self._kept.get(key, lambda: _gone(key))

    def keep(self, pixels: np.ndarray) -> str:
        """Keep a filled image; returns its key, the same for the same pixels."""
        key = hashlib.blake2b(pixels.tobytes() + repr(pixels.shape).encode(), digest_size=16).hexdigest()
        self._kept.get(key, lambda: encoded(pixels, "png"))
        return key

    def remove(self, image: InputImage, asked: bodies.Removal, fill: str) -> FilledImage:
        """Remove what is asked for.

        Raises:
            UserError: the request names nothing, the image has no such class, the region is empty or everything, or
                the fill cannot be had.
        """
        descriptor, target, picture = fill_named(fill), Target.of(asked), self._images.picture(image)
        judgement, mask = judged_mask(image, picture, target)
        large = self._images.enlarged(image)
        started = time.perf_counter()
        shown = pixels = _filled(image, picture, target, judgement, mask, descriptor)
        if large is not None:
            shown = _filled(image, large, target, judgement, judged_mask(image, large, target)[1], descriptor)
        return FilledImage(
            key=self.keep(shown),
            original=picture.pixels,
            pixels=pixels,
            target=target,
            judgement=judgement,
            title=descriptor.title,
            milliseconds=1000 * (time.perf_counter() - started),
        )


def _filled(
    image: InputImage, picture: Picture, target: Target, judgement: Judgement, mask: np.ndarray, fill: FillDescriptor
) -> np.ndarray:
    if not mask.any():
        raise DataError("Nothing that was chosen has an area inside the image. Draw over the object again.")
    whole = judgement.removed if target.drawing is None else ()  # classes, where whole objects go
    return paint(fill, picture.pixels, mask, scene=image.scene, removed=whole)


def judged_mask(image: InputImage, picture: Picture, target: Target) -> tuple[Judgement, np.ndarray]:
    """What removing it means, and the pixels of this picture to fill; bool ``[H, W]``.

    Raises:
        UserError: the image has no such class, or nothing of what was drawn lies inside it.
    """
    if target.drawing is not None:
        return drawn(image, picture, target.name, target.drawing)
    classes = target.classes
    if not image.classes:
        named = repr(", ".join(classes)[:80])
        raise DataError(f"No object is marked in this image, so {named} cannot be chosen. Draw over it instead.")
    judgement = together(image.regions(), classes)
    return judgement, scaled_mask(picture, image.boxes, image.classes, judgement.removed)


def table_name(name: str, words: WordTable) -> str:
    """The word table's spelling of a class, if it has it; else the name as it is."""
    plain = " ".join(token.word for token in tokenise(name))
    spelt = {" ".join(token.word for token in tokenise(known)): known for known in words.classes}
    return spelt.get(plain, name)


def together(regions: Regions, classes: Sequence[str]) -> Judgement:
    """One judgement for several classes at once: they count as one class, the first one.

    Raises:
        UserError: the image has no such class.
    """
    chosen = classes[0]
    if len(classes) == 1:
        return judge(regions, chosen)
    for name in classes:
        judge(regions, name)  # refuses names that are not there
    cells = {name: grid for name, grid in regions.cells.items() if name not in classes or name == chosen}
    cells[chosen] = regions.union(classes)
    judgement = judge(replace(regions, cells=cells), chosen)
    gone = {*judgement.removed, *classes}
    said = "Several classes were chosen; the metric removes one class at a time, and those it covers."
    return replace(
        judgement,
        removed=tuple(name for name in regions.classes if name in gone),
        kept=tuple(name for name in regions.classes if name not in gone),
        case="several",
        problems=(*judgement.problems, said),
    )


def drawn(image: InputImage, picture: Picture, name: str, drawing: Drawing) -> tuple[Judgement, np.ndarray]:
    """Judge the removal of what was drawn over, beside the image's annotated objects, and the pixels to fill.

    Raises:
        DataError: nothing of it lies inside the image.
    """
    height, width = picture.pixels.shape[:2]
    mask = drawing.mask(width, height)
    if not mask.any():
        raise DataError("Nothing that was drawn lies inside the image. Draw over the object again.")
    scale_x, scale_y = width / image.width, height / image.height
    masks, classes, same = [], [], np.zeros_like(mask)
    for (x0, y0, x1, y1), known in zip(image.boxes, image.classes, strict=True):
        own = pixel_mask([(x0 * scale_x, y0 * scale_y, x1 * scale_x, y1 * scale_y)], width, height)
        if known == name:
            same |= own
        else:
            masks.append(own)
            classes.append(known)
    judgement = judge(Regions.of_masks([mask, *masks], [name, *classes]), name)
    if not image.classes:  # what else is there nobody has said: it may be one class or ten
        problems = tuple(NONE_MARKED if one == ONE_CLASS else one for one in judgement.problems)
        judgement = replace(judgement, problems=problems)
    left = float((same & ~mask).sum() / max(1, same.sum()))
    if left > 1 - TAU2:
        said = f"{left:.0%} of what is marked as {name} in this image lies outside the drawing and stays."
        judgement = replace(judgement, problems=(*judgement.problems, said))
    swallowed = [known for known in judgement.removed if known != name]
    for own, known in zip(masks, classes, strict=True):
        if known in swallowed:
            mask = mask | own
    return judgement, mask


def _gone(key: str) -> bytes:
    raise GoneError(f"The image {key[:40]!r} is no longer kept here. Ask again.")
