"""Images by reference: those of the open datasets, and those that visitors uploaded."""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from PIL import Image

from explorer.server.http import GoneError, still_kept
from explorer.server.library import MEGABYTE
from explorer.server.turns import Turns
from explorer.tabs.object_removal import bodies
from explorer.tabs.object_removal.datasets import Datasets, OpenDataset
from trainers.data.captioned_images import CaptionedImage
from trainers.data.lru_cache import Cache, CostLimit
from trainers.data.picture import LONGEST, Picture, read_picture
from trainers.data.synthetic.scenes import Drawing, drawing_of
from trainers.object_removal.drawing import dropped_note, read_boxes
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import objects
from trainers.object_removal.regions import Box, Regions, judge_all

SHOWN = 1024
"""Longest side of an image on the page, pixels."""
KEPT = 64 * MEGABYTE
"""Most that is kept of uploads, in bytes; and, of filled images, a half of it besides."""
UPLOAD = 30 * 1024 * 1024
"""Most bytes of an image file that a visitor uploads."""
UPLOADS = 32
UPLOADED = "upload"
"""What references of visitors' own images begin with."""
_COST = KEPT // UPLOADS  # the least that an upload counts, so that at most UPLOADS are kept
_REF = re.compile(r"([A-Za-z0-9_-]{1,80})\.([0-9a-f]{32}|[0-9]{1,7})")
_NUMBER = re.compile(r"[0-9]{1,7}")


@dataclass(frozen=True, kw_only=True)
class InputImage:
    """One image.

    Attributes:
        ref: its address below ``objects/image/``.
        alt: what it shows, in words.
        captions: captions that its dataset has about it.
        boxes, classes: its objects in pixels of the upright original, cleaned.
        width, height: of the upright original.
        scene: where it comes from; None for an upload.
        dataset: its dataset; None for an upload.
        upload: its pixels; None for an image of a dataset.
    """

    ref: str
    alt: str
    width: int
    height: int
    captions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    classes: tuple[str, ...] = ()
    scene: CaptionedImage | None = None
    dataset: OpenDataset | None = None
    upload: Picture | None = None

    @property
    def source(self) -> Literal["dataset", "upload", "drawn"]:
        """Where it comes from, in one word."""
        if self.dataset is None:
            return "upload"
        return "drawn" if self.dataset.drawn else "dataset"

    def regions(self) -> Regions:
        """Return the regions of its objects."""
        return Regions.of_boxes(self.boxes, self.classes, self.width, self.height)


class InputImages:
    """Finds images; decodes them when their pixels are needed. Nothing is written to disk.

    Args:
        read_again: room for what can be decoded again.
        kept: room for uploads, of each visitor a share.
        turns: in which uploads are unpacked; None: those of this tab alone.
    """

    def __init__(self, datasets: Datasets, read_again: CostLimit, kept: CostLimit, turns: Turns | None = None) -> None:
        self.turns = turns or Turns()
        self._datasets = datasets
        self._uploads: Cache[InputImage] = Cache(limit=kept, cost=_upload_bytes)
        self._pictures: Cache[Picture] = Cache(limit=read_again, cost=lambda picture: picture.pixels.nbytes)

    def get(self, ref: str) -> InputImage:
        """Return one image.

        Raises:
            GoneError: there is none, or no longer.
            DataError: the image of a dataset cannot be read.
        """
        match = _REF.fullmatch(ref)
        if match is None:
            raise GoneError(f"There is no image {ref[:80]!r}.")
        name, key = match.groups()
        if name == UPLOADED:
            return still_kept(
                self._uploads, ref, f"The image {ref[:80]!r} is no longer kept here. Choose the file again."
            )
        return self._of_dataset(self._datasets.get(name), key)

    def asked(self, ref: str, objects: Sequence[bodies.FoundObject]) -> InputImage:
        """Return one image; an upload with the objects that a detector found in it.

        Raises:
            UserError: as :meth:`get`.
        """
        image = self.get(ref)
        if not objects or image.upload is None:
            return image
        boxes, classes = [], []
        for each in objects:
            corners, _ = read_boxes(each.boxes)
            width, height = image.width, image.height
            boxes += [(x0 * width, y0 * height, x1 * width, y1 * height) for x0, y0, x1, y1 in corners]
            classes += [each.name] * len(corners)
        return replace(image, boxes=tuple(boxes), classes=tuple(classes))

    def add(self, data: bytes, visitor: str = "") -> InputImage:
        """Keep an image that a visitor uploads; its reference cannot be guessed.

        Args:
            visitor: whose share of the room it takes.

        Raises:
            DataError: it cannot be read, or too large.
        """
        with self.turns.reading(visitor, data):
            picture = read_picture(data, SHOWN)
        image = InputImage(
            ref=f"{UPLOADED}.{secrets.token_hex(16)}",
            alt="An image of your own",
            width=picture.width,
            height=picture.height,
            notes=picture.notes,
            upload=picture,
        )
        return self._uploads.get(image.ref, lambda: image, visitor)

    def picture(self, image: InputImage, longest: int = LONGEST) -> Picture:
        """Return its pixels, the longer side at most ``longest``.

        Raises:
            DataError: the image cannot be read.
        """
        if image.upload is not None:
            return shrunk(image.upload, longest)
        assert image.scene is not None
        scene = image.scene
        return self._pictures.get((image.ref, longest), lambda: read_picture(scene.load() or b"", longest))

    def shown(self, image: InputImage, longest: int) -> Picture:
        """Return its pixels as the page shows it.

        Raises:
            DataError: the image cannot be read.
        """
        return self.enlarged(image, min(longest, LONGEST)) or self.picture(image, longest)

    def enlarged(self, image: InputImage, side: int = LONGEST) -> Picture | None:
        """Draw a drawn scene at a size that suits the eye; None for images, which are shown as models see them."""
        drawing = None if image.scene is None else drawing_of(image.scene)
        if drawing is None:
            return None
        return self._pictures.get((image.ref, "drawn", side), lambda: _drawn(drawing, side, image))

    def _of_dataset(self, dataset: OpenDataset, key: str) -> InputImage:
        index = int(key) if _NUMBER.fullmatch(key) else -1
        if not 0 <= index < len(dataset.scenes):
            raise GoneError(
                f"The dataset {dataset.data.title} has {len(dataset.scenes)} images; there is no number {key[:9]}."
            )
        scene = dataset.scenes[index]
        bare = InputImage(
            ref=f"{dataset.name}.{index}",
            alt=_alt(dataset, index),
            captions=scene.captions,
            width=scene.width,
            height=scene.height,
            scene=scene,
            dataset=dataset,
        )
        notes: tuple[str, ...] = ()
        if not (scene.width and scene.height):
            picture = self.picture(bare)
            bare, notes = replace(bare, width=picture.width, height=picture.height), picture.notes
        boxes, classes, dropped = objects(scene, bare.width, bare.height)
        return replace(bare, boxes=boxes, classes=classes, notes=(*notes, *dropped_note(dropped)))


def about(image: InputImage) -> dict[str, Any]:
    """Describe an image with everything that the page needs."""
    notes = list(image.notes)
    if not image.classes:
        notes.append("No object is marked in this image: draw over one and say what it is.")
    return {
        "ref": image.ref,
        "alt": image.alt,
        "width": image.width,
        "height": image.height,
        "captions": list(image.captions),
        "notes": notes,
        "source": image.source,
        "rerender": all(fill.unfit(image.scene) is None for fill in FILLS.values()),
        "dataset": None if image.dataset is None else image.dataset.name,
        "objects": judged(image),
    }


def judged(image: InputImage) -> list[dict[str, Any]]:
    """List its classes with their boxes as fractions, and what removing each of them would mean."""
    if not image.classes:
        return []
    objects, size = [], np.array([image.width, image.height] * 2)
    fractions = np.round(np.array(image.boxes) / size, 5).tolist()
    for judgement in judge_all(image.regions()):
        boxes = [box for box, name in zip(fractions, image.classes, strict=True) if name == judgement.chosen]
        objects.append(
            {
                "class": judgement.chosen,
                "boxes": boxes,
                "allowed": judgement.allowed,
                "removes": list(judgement.removed),
                "keeps": list(judgement.kept),
                "share": round(judgement.share, 4),
                "problems": list(judgement.problems),
            }
        )
    return objects


def shrunk(picture: Picture, longest: int) -> Picture:
    """Shrink a picture until its longer side is at most ``longest``."""
    height, width = picture.pixels.shape[:2]
    ratio = longest / max(width, height)
    if ratio >= 1:
        return picture
    size = (max(1, round(width * ratio)), max(1, round(height * ratio)))
    pixels = np.array(Image.fromarray(picture.pixels).resize(size, Image.Resampling.BICUBIC), dtype=np.uint8)
    return replace(picture, pixels=pixels, scale=pixels.shape[1] / picture.width)


def encoded(pixels: np.ndarray, kind: Literal["png", "jpeg"]) -> bytes:
    """Encode uint8 ``[H, W, 3]`` as a file."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind, **({"compress_level": 3} if kind == "png" else {"quality": 90}))
    return out.getvalue()


def _alt(dataset: OpenDataset, index: int) -> str:
    captions = dataset.scenes[index].captions
    return captions[0][:300] if captions else f"Image {index + 1} of {dataset.data.title}"


def _drawn(drawing: Drawing, side: int, image: InputImage) -> Picture:
    scale = side / image.width
    return Picture(pixels=drawing.pixels(side), width=image.width, height=image.height, scale=scale, notes=())


def _upload_bytes(image: InputImage) -> int:
    return max(_COST, 0 if image.upload is None else image.upload.pixels.nbytes)
