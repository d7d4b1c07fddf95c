"""Photos by reference: those of the open sets, and those that visitors brought along."""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from PIL import Image

from explorer.object_removal.datasets import PhotoSet, Sets
from explorer.server.cache import Cache, Room
from explorer.server.http import GoneError
from explorer.server.library import MEGABYTE
from trainers.data.captioned.scenes import Scene
from trainers.data.synthetic.scenes import Drawing, drawing_of
from trainers.errors import DataError
from trainers.object_removal.image import LONGEST, Picture, read_picture
from trainers.object_removal.overlap import judge_all
from trainers.object_removal.pairs import objects
from trainers.object_removal.regions import Box, Regions

SHOWN = 1024
"""Longest side of a photo on the page, pixels."""
KEPT = 64 * MEGABYTE
"""Most that is kept of what cannot be made again: photos that visitors brought along, and painted pictures."""
UPLOAD = 30 * 1024 * 1024
"""Most bytes of an image file that a visitor brings along."""
UPLOADS = 32
_UPLOAD = "upload"
_COST = KEPT // UPLOADS  # the least that an upload counts, so that at most UPLOADS are kept
_REF = re.compile(r"([A-Za-z0-9_-]{1,80})\.([0-9a-f]{32}|[0-9]{1,7})")
_NUMBER = re.compile(r"[0-9]{1,7}")


@dataclass(frozen=True, kw_only=True)
class Photo:
    """One photo.

    Attributes:
        ref: its address below ``objects/photo/``.
        alt: what it shows, in words.
        captions: sentences that its set has about it.
        boxes, classes: its objects in pixels of the upright original, cleaned.
        width, height: of the upright original.
        scene: where it comes from; None for an upload.
        group: its set; None for an upload.
        upload: its pixels; None for a photo of a set.
    """

    ref: str
    alt: str
    width: int
    height: int
    captions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    classes: tuple[str, ...] = ()
    scene: Scene | None = None
    group: PhotoSet | None = None
    upload: Picture | None = None

    @property
    def source(self) -> Literal["set", "upload", "drawn"]:
        """Where it comes from, in one word."""
        if self.group is None:
            return "upload"
        return "drawn" if self.group.drawn else "set"

    @property
    def redrawn(self) -> bool:
        """Whether the scene can be drawn again without an object."""
        return self.group is not None and self.group.drawn

    def with_objects(self, boxes: Sequence[Box], classes: Sequence[str]) -> Photo:
        """The same photo with other objects."""
        return replace(self, boxes=tuple(boxes), classes=tuple(classes))

    def regions(self) -> Regions:
        """Where its objects are."""
        return Regions.of_boxes(self.boxes, self.classes, self.width, self.height)


class Photos:
    """Finds photos; decodes them when their pixels are needed. Nothing is written to disk.

    Args:
        read_again: room for what can be decoded again.
        kept: room for what visitors brought along.
    """

    def __init__(self, sets: Sets, read_again: Room, kept: Room) -> None:
        self._sets = sets
        self._uploads: Cache[Photo] = Cache(limit=kept, cost=_upload_bytes)
        self._pictures: Cache[Picture] = Cache(limit=read_again, cost=lambda picture: picture.pixels.nbytes)

    def get(self, ref: str) -> Photo:
        """One photo.

        Raises:
            GoneError: there is none, or no longer.
            DataError: the photo of a set cannot be read.
        """
        match = _REF.fullmatch(ref)
        if match is None:
            raise GoneError(f"There is no photo {ref[:80]!r}.")
        name, key = match.groups()
        if name == _UPLOAD:
            return self._uploads.get(ref, lambda: _gone(ref))
        return self._of_set(self._sets.get(name), key)

    def listing(self, name: str, offset: int, count: int) -> dict[str, Any]:
        """A page of a set's photos."""
        group = self._sets.get(name)
        places = range(offset, min(offset + count, len(group.scenes)))
        found = [
            {
                "ref": f"{group.name}.{place}",
                "alt": _alt(group, place),
                "classes": list(dict.fromkeys(group.scenes[place].classes)),
            }
            for place in places
        ]
        return {"total": len(group.scenes), "photos": found}

    def allowed(self, ref: str) -> list[str]:
        """Classes of a photo that may be removed by the overlap rules."""
        return [found["class"] for found in judged(self.get(ref)) if found["allowed"]]

    def add(self, data: bytes, name: str = "") -> Photo:
        """Take a photo that a visitor brought along; its reference cannot be guessed.

        Raises:
            DataError: it is no picture that can be read, or too large.
        """
        if not data:
            raise DataError("No picture came. Choose a JPEG, PNG or WebP file.")
        picture = read_picture(data, SHOWN)
        photo = Photo(
            ref=f"{_UPLOAD}.{secrets.token_hex(16)}",
            alt=f"The photo {name}" if name else "A photo of your own",
            width=picture.width,
            height=picture.height,
            notes=picture.notes,
            upload=picture,
        )
        return self._uploads.get(photo.ref, lambda: photo)

    def picture(self, photo: Photo, longest: int = LONGEST) -> Picture:
        """Its pixels, the longer side at most ``longest``.

        Raises:
            DataError: the photo cannot be read.
        """
        if photo.upload is not None:
            return shrunk(photo.upload, longest)
        assert photo.scene is not None
        scene = photo.scene
        return self._pictures.get((photo.ref, longest), lambda: read_picture(scene.load() or b"", longest))

    def shown(self, photo: Photo, longest: int) -> Picture:
        """As the page shows it.

        Raises:
            DataError: the photo cannot be read.
        """
        return self.enlarged(photo, min(longest, LONGEST)) or self.picture(photo, longest)

    def enlarged(self, photo: Photo, side: int = LONGEST) -> Picture | None:
        """A drawn scene drawn at a size that suits the eye; None for photos, which are shown as models see them."""
        drawing = None if photo.scene is None else drawing_of(photo.scene)
        if drawing is None:
            return None
        return self._pictures.get((photo.ref, "drawn", side), lambda: _drawn(drawing, side, photo))

    def _of_set(self, group: PhotoSet, key: str) -> Photo:
        place = int(key) if _NUMBER.fullmatch(key) else -1
        if not 0 <= place < len(group.scenes):
            raise GoneError(f"The set {group.data.title} has {len(group.scenes)} photos; there is no number {key[:9]}.")
        scene = group.scenes[place]
        bare = Photo(
            ref=f"{group.name}.{place}",
            alt=_alt(group, place),
            width=scene.width,
            height=scene.height,
            captions=scene.captions,
            scene=scene,
            group=group,
        )
        notes: tuple[str, ...] = ()
        if not (scene.width and scene.height):
            picture = self.picture(bare)
            bare, notes = replace(bare, width=picture.width, height=picture.height), picture.notes
        boxes, classes, dropped = objects(scene, bare.width, bare.height)
        if dropped:
            what = "1 box has" if dropped == 1 else f"{dropped} boxes have"
            notes = (*notes, f"{what} no area inside the photo and was left out.")
        return replace(bare, boxes=boxes, classes=classes, notes=notes)


def about(photo: Photo) -> dict[str, Any]:
    """Everything about a photo that the page needs."""
    notes = list(photo.notes)
    if not photo.classes:
        notes.append("No object is marked in this photo: draw over one and say what it is.")
    return {
        "ref": photo.ref,
        "alt": photo.alt,
        "width": photo.width,
        "height": photo.height,
        "captions": list(photo.captions),
        "notes": notes,
        "source": photo.source,
        "rerender": photo.redrawn,
        "set": None if photo.group is None else photo.group.name,
        "objects": judged(photo),
    }


def judged(photo: Photo) -> list[dict[str, Any]]:
    """Its classes with their boxes as fractions, and what taking each of them out would mean."""
    if not photo.classes:
        return []
    found = []
    for judgement in judge_all(photo.regions()):
        boxes = [box for box, name in zip(photo.boxes, photo.classes, strict=True) if name == judgement.chosen]
        found.append(
            {
                "class": judgement.chosen,
                "boxes": [fractions(box, photo.width, photo.height) for box in boxes],
                "allowed": judgement.allowed,
                "removes": list(judgement.removed),
                "keeps": list(judgement.kept),
                "share": round(judgement.share, 4),
                "problems": list(judgement.problems),
            }
        )
    return found


def fractions(box: Box, width: int, height: int) -> list[float]:
    """A box in pixels as fractions of the photo."""
    x0, y0, x1, y1 = box
    return [round(x0 / width, 5), round(y0 / height, 5), round(x1 / width, 5), round(y1 / height, 5)]


def shrunk(picture: Picture, longest: int) -> Picture:
    """The same picture with its longer side at most ``longest``."""
    height, width = picture.pixels.shape[:2]
    ratio = longest / max(width, height)
    if ratio >= 1:
        return picture
    size = (max(1, round(width * ratio)), max(1, round(height * ratio)))
    pixels = np.array(Image.fromarray(picture.pixels).resize(size, Image.Resampling.BICUBIC), dtype=np.uint8)
    return replace(picture, pixels=pixels, scale=pixels.shape[1] / picture.width)


def png(pixels: np.ndarray) -> bytes:
    """uint8 ``[H, W, 3]`` as a PNG file."""
    return _encoded(pixels, "PNG", compress_level=3)


def jpeg(pixels: np.ndarray) -> bytes:
    """uint8 ``[H, W, 3]`` as a JPEG file."""
    return _encoded(pixels, "JPEG", quality=90)


def _encoded(pixels: np.ndarray, kind: str, **options: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **options)
    return out.getvalue()


def _alt(group: PhotoSet, place: int) -> str:
    captions = group.scenes[place].captions
    return captions[0][:300] if captions else f"Photo {place + 1} of {group.data.title}"


def _drawn(drawing: Drawing, side: int, photo: Photo) -> Picture:
    return Picture(
        pixels=drawing.pixels(side), scale=side / photo.width, width=photo.width, height=photo.height, notes=()
    )


def _gone(ref: str) -> Photo:
    raise GoneError(f"The photo {ref[:80]!r} is no longer kept here. Choose the file again.")


def _upload_bytes(photo: Photo) -> int:
    return max(_COST, 0 if photo.upload is None else photo.upload.pixels.nbytes)
