"""COCO as its authors hand it out: ``annotations/instances_*.json``, ``captions_*.json`` and image folders."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest, broader_classes
from trainers.data.captioned_images import Box, CaptionedDataset, CaptionedImage
from trainers.data.decode import orientation
from trainers.data.image_file import open_header, read_below
from trainers.data.names import on_disk
from trainers.errors import DataError
from trainers.progress import Progress

_TRIED = 20  # images, to find where they lie
LICENCE = "annotations CC BY 4.0; the images belong to their Flickr authors, most of them non-commercial"


def recognises(folder: Path | None) -> bool:
    """Return whether caption files lie in the folder or in its ``annotations``."""
    return folder is not None and folder.is_dir() and bool(_files(folder, "captions"))


def load(request: CaptionedRequest) -> CaptionedDataset:
    """Join captions and boxes by image id; pixels are read when they are needed. Crowd regions count as objects.

    The folder has ``annotations`` and image folders named like the splits (``val2017``) or as ``images/val2017``.

    Raises:
        DataError: an annotation file is damaged or no image file is there.
    """
    folder = request.folder or Path(request.source)
    try:
        return _joined(folder, request.limit, request.progress)
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise DataError(
            f"The annotations of {folder.name!r} are not in COCO's format ({type(error).__name__}: {error}). "
            "Lists of images, annotations and categories are needed, each with its id."
        ) from error


def _joined(folder: Path, limit: int | None, progress: Progress) -> CaptionedDataset:
    splits, classes, notes = {}, {}, []
    broader: dict[str, str] = {}
    captioned, boxes_of = _files(folder, "captions"), _files(folder, "instances")
    for number, (split, path) in enumerate(captioned.items()):
        progress(f"reading the captions of {split}", number / len(captioned))
        said = _read(path)
        boxed = boxes_of.get(split)
        progress(f"reading the boxes of {split}", (number + 0.5) / len(captioned))
        seen = _read(boxed) if boxed else {"annotations": [], "categories": []}
        names = {_id(entry["id"]): entry["name"] for entry in seen.get("categories", ())}
        classes.update(dict.fromkeys(names.values()))
        broader |= broader_classes(seen.get("categories", ()))
        images = sorted(said["images"], key=lambda image: _ordered(_id(image["id"])))[:limit]
        place = _Place.of(folder, split, images)
        captions, boxes, lost = defaultdict(list), defaultdict(list), Counter[str]()
        for entry in said["annotations"]:
            text = entry.get("caption") if isinstance(entry, dict) else None
            if isinstance(text, str) and text.strip() and "image_id" in entry:
                captions[_id(entry["image_id"])].append(text.strip())
            else:
                lost["captions without a text or an image"] += 1
        if lost and not captions:
            raise DataError(f"None of the {lost.total():,} captions of {split!r} has a text and the id of an image.")
        for entry in seen["annotations"]:
            corners = _corners(entry)
            if corners is None:
                lost["boxes that are not four numbers"] += 1
            elif (kind := names.get(_id(entry["category_id"]))) is not None:
                boxes[_id(entry["image_id"])].append((corners, kind))
        splits[split] = () if place is None else tuple(_image(image, place, captions, boxes) for image in images)
        if place is not None:
            notes += place.notes(split)
        notes += [f"{split}: {count:,} {what} are left out." for what, count in lost.items()]
        if boxed is None:
            notes.append(f"{split} has no instances file, so its images have no boxes.")
    return CaptionedDataset(
        title="COCO",
        licence=LICENCE,
        splits=splits,
        classes=tuple(classes),
        notes=tuple(notes),
        broader=broader,
    )


@dataclass(kw_only=True)
class _Place:
    """Where the image files of a split lie.

    Attributes:
        by_last: they are found by the last part of their names; else by the whole of these.
        turned: how many photographs were turned, with their boxes.
    """

    home: Path
    by_last: bool
    turned: int = 0

    @classmethod
    def of(cls, folder: Path, split: str, images: Sequence[Mapping[str, Any]]) -> _Place | None:
        """Find the folder of the first images; None if there are none to find.

        Raises:
            DataError: no image file is there.
        """
        folders = [folder / split, folder / "images" / split, folder / "images", folder]
        tried = [str(image["file_name"]) for image in images[:_TRIED]]
        for name in tried:
            for by_last, part in ((False, name), (True, _last(name))):
                if not by_last and (Path(name).is_absolute() or ".." in Path(name).parts):
                    continue
                for home in folders:
                    if part and on_disk(home / part).is_file():
                        return cls(home=home, by_last=by_last)
        if not tried:
            return None
        raise DataError(
            f"No image of {split!r} was found: {_last(tried[0])!r} is in no folder {split!r}. Put the image "
            f"files into {split}, images/{split} or images of {folder.name!r}."
        )

    def path(self, name: str) -> Path:
        return self.home / (_last(name) if self.by_last else name)

    def notes(self, split: str) -> list[str]:
        last = [f"{split}: images are found by the last part of their file_name."] if self.by_last else []
        turned = f"{split}: {self.turned:,} photographs are turned by their EXIF, and their boxes with them."
        return [*last, *([turned] if self.turned else [])]


def _last(name: str) -> str:
    """Return the last part of a path or an address."""
    address = "://" in name
    last = (name.split("?")[0] if address else name).replace("\\", "/").rsplit("/", 1)[-1]
    return unquote(last) if address else last


def _corners(entry: Any) -> Box | None:
    """Return the corners of an annotation's box; None if it is not four finite numbers, as numbers or as text."""
    try:
        x, y, w, h = (float(number) for number in entry["bbox"])
        entry["image_id"], entry["category_id"]
    except (KeyError, TypeError, ValueError):
        return None
    corners = (x, y, x + w, y + h)
    return corners if all(map(math.isfinite, corners)) else None


def _image(image: Mapping[str, Any], place: _Place, captions: Any, boxes: Any) -> CaptionedImage:
    number, path = _id(image["id"]), place.path(str(image["file_name"]))
    objects = boxes[number]
    corners, size = [box for box, _ in objects], (int(image.get("width") or 0), int(image.get("height") or 0))
    turn = _turn(path, size) if corners and size[0] != size[1] else None
    if turn is not None:
        corners, size = [_turned(box, turn, size) for box in corners], size[::-1]
        place.turned += 1
    return CaptionedImage(
        image_id=number,
        load=partial(read_below, path, (place.home.resolve(),)),
        captions=tuple(captions[number]),
        boxes=tuple(corners),
        classes=tuple(kind for _, kind in objects),
        width=size[0],
        height=size[1],
    )


def _turn(path: Path, size: tuple[int, int]) -> int | None:
    """Return the EXIF orientation of a photograph that is shown on its side of what the file's sizes name, or None."""
    try:
        image = open_header(on_disk(path).read_bytes())
    except (OSError, DataError):  # said where it is read
        return None
    turn = orientation(image)
    return turn if turn in _ON_ITS_SIDE and image.size == size else None


_ON_ITS_SIDE: Mapping[int, tuple[bool, bool]] = {5: (False, False), 6: (True, False), 7: (True, True), 8: (False, True)}
"""EXIF orientations that swap the sides, and whether the stored top, and left, are counted from the other end."""


def _turned(box: Box, turn: int, size: tuple[int, int]) -> Box:
    """Return a box of the stored pixels, of a size, in the picture as it is shown."""
    (x0, y0, x1, y1), (width, height), (down, across) = box, size, _ON_ITS_SIDE[turn]
    left, right = (height - y1, height - y0) if down else (y0, y1)
    top, bottom = (width - x1, width - x0) if across else (x0, x1)
    return left, top, right, bottom


def _id(value: Any) -> str:
    """Return an id as text: of one image, one file may have a number and another its digits as a text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"an id was needed, a number or a text; got {value!r:.40}")
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    return str(int(text)) if text.isascii() and text.isdigit() else text


def _ordered(id_: str) -> int | str:
    """Return a key that sorts ids: numbers by size, texts by letter; a file has the ones or the others."""
    return int(id_) if id_.isdigit() and id_.isascii() else id_


def _files(folder: Path, kind: str) -> dict[str, Path]:
    """Split name to file of a kind."""
    files = {}
    for number in (folder, folder / "annotations"):
        for path in sorted(number.glob(f"{kind}_*.json")):
            files[path.stem.removeprefix(f"{kind}_")] = path
    return files


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data["annotations"], list):
            raise TypeError("its annotations are not a list")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path.name} cannot be read as a COCO annotation file ({error}).") from error
    return data


DESCRIPTOR = CaptionedDescriptor(
    name="coco_folder",
    title="COCO folder",
    sentence="COCO's annotation files with the images they belong to.",
    load=load,
    recognises=recognises,
)
