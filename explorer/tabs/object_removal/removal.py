"""Removing an object from an image: what is removed, what stays, and the image with its place filled."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.server.http import still_kept
from explorer.server.removal import Removal
from explorer.tabs.object_removal.images import InputImage, InputImages, encoded
from trainers.data.lru_cache import Cache, CostLimit
from trainers.data.picture import Picture
from trainers.errors import DataError
from trainers.object_removal.fills import FillDescriptor, fill_for_photograph, fill_named, paint
from trainers.object_removal.pairs import scaled_mask
from trainers.object_removal.regions import Judgement, pixel_mask
from trainers.object_removal.removal import Target, drawn_over, together

BY_AREA = "by_area"
"""In place of a fill: the one that suits a photograph and how much of it goes."""
_LAST = 8  # filled photographs that are kept for the next question about them


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A removal before anything is filled: what goes, bool ``[H, W]`` of the picture, and by what it is filled."""

    image: InputImage
    picture: Picture
    target: Target
    judgement: Judgement
    mask: np.ndarray
    fill: FillDescriptor

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal results."""
        return self.image.ref, self.image.boxes, self.image.classes, repr(self.target), self.fill.name


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
        """Return the part of a reply that tells what was done to the image."""
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

    def __init__(self, images: InputImages, kept: CostLimit) -> None:
        self._images = images
        self._kept: Cache[bytes] = Cache(limit=kept, cost=len)
        self._last: Cache[FilledImage] = Cache(limit=_LAST)

    def png(self, key: str) -> bytes:
        """Return a filled image as a PNG file.

        Raises:
            GoneError: it is no longer kept.
        """
        return still_kept(self._kept, key, f"The image {key[:40]!r} is no longer kept here. Ask again.")

    def keep(self, pixels: np.ndarray) -> str:
        """Keep a filled image; returns its key, the same for the same pixels."""
        key = hashlib.blake2b(pixels.tobytes() + repr(pixels.shape).encode(), digest_size=16).hexdigest()
        self._kept.get(key, lambda: encoded(pixels, "png"))
        return key

    def plan(self, image: InputImage, asked: Removal, fill: str) -> Planned:
        """Say what goes and by what it is filled; ``fill`` is a name, or :data:`BY_AREA`.

        Raises:
            UserError: the request names nothing, the image has no such class, or there is no such fill.
        """
        target, picture = asked.named(), self._images.picture(image)
        judgement, mask = judged_mask(image, picture, target)
        descriptor = fill_for_photograph(judgement.share) if fill == BY_AREA else fill_named(fill)
        return Planned(image=image, picture=picture, target=target, judgement=judgement, mask=mask, fill=descriptor)

    def is_long(self, planned: Planned) -> bool:
        """Whether filling will take seconds: a slow fill that is not kept from the last question."""
        return planned.fill.slow and self._last.find(planned.key) is None

    def remove(self, image: InputImage, asked: Removal, fill: str) -> FilledImage:
        """Remove what is asked for.

        Raises:
            UserError: as :meth:`plan`, the region is empty or everything, or the fill cannot be had.
        """
        planned = self.plan(image, asked, fill)
        if image.source == "drawn":
            return self._made(planned)
        made = self._last.get(planned.key, lambda: self._made(planned))
        self.keep(made.pixels)
        return made

    def _made(self, planned: Planned) -> FilledImage:
        image, target, picture = planned.image, planned.target, planned.picture
        large = self._images.enlarged(image)
        started = time.perf_counter()
        shown = pixels = _filled(planned, picture, planned.mask)
        if large is not None:
            shown = _filled(planned, large, judged_mask(image, large, target)[1])
        return FilledImage(
            key=self.keep(shown),
            original=picture.pixels,
            pixels=pixels,
            target=target,
            judgement=planned.judgement,
            title=planned.fill.title,
            milliseconds=1000 * (time.perf_counter() - started),
        )


def _filled(planned: Planned, picture: Picture, mask: np.ndarray) -> np.ndarray:
    if not mask.any():
        raise DataError("Nothing that was chosen has an area inside the image. Draw over the object again.")
    # classes, where whole objects go
    whole = planned.judgement.removed if planned.target.drawing is None else ()
    return paint(planned.fill, picture.pixels, mask, scene=planned.image.scene, removed=whole)


def judged_mask(image: InputImage, picture: Picture, target: Target) -> tuple[Judgement, np.ndarray]:
    """Return what removing it means, and the pixels of this picture to fill; bool ``[H, W]``.

    Raises:
        UserError: the image has no such class, or nothing of what was drawn lies inside it.
    """
    if target.drawing is not None:
        height, width = picture.pixels.shape[:2]
        scale_x, scale_y = width / image.width, height / image.height
        objects = [
            (name, pixel_mask([(x0 * scale_x, y0 * scale_y, x1 * scale_x, y1 * scale_y)], width, height))
            for (x0, y0, x1, y1), name in zip(image.boxes, image.classes, strict=True)
        ]
        return drawn_over(target.drawing.mask(width, height), target.name, objects)
    if not image.classes:
        named = repr(", ".join(target.classes)[:80])
        raise DataError(f"No object is marked in this image, so {named} cannot be chosen. Draw over it instead.")
    judgement = together(image.regions(), target.classes)
    return judgement, scaled_mask(picture, image.boxes, image.classes, judgement.removed)
