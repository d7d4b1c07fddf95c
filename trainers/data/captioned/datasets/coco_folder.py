"""COCO as its authors hand it out: ``annotations/instances_*.json``, ``captions_*.json`` and image folders."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest, broader_classes
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.image_file import read_below
from trainers.data.names import on_disk
from trainers.errors import DataError
from trainers.progress import Progress

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
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise DataError(
            f"The annotations of {folder.name!r} are not in COCO's format ({type(error).__name__}: {error}). Get the "
            "files again."
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
        folders = [folder / split, folder / "images" / split, folder / "images", folder]
        home = next((p for p in folders if images and on_disk(p / images[0]["file_name"]).is_file()), None)
        if images and home is None:
            raise DataError(f"No image of {split!r} was found: {images[0]['file_name']!r} is in no folder {split!r}.")
        captions, boxes = defaultdict(list), defaultdict(list)
        for entry in said["annotations"]:
            captions[_id(entry["image_id"])].append(entry["caption"].strip())
        for entry in seen["annotations"]:
            boxes[_id(entry["image_id"])].append(entry)
        splits[split] = () if home is None else tuple(_image(image, home, captions, boxes, names) for image in images)
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


def _image(image: dict[str, Any], home: Path, captions: Any, boxes: Any, names: dict[str, str]) -> CaptionedImage:
    objects = [entry for entry in boxes[_id(image["id"])] if _id(entry["category_id"]) in names]
    corners = [(x, y, x + w, y + h) for x, y, w, h in (entry["bbox"] for entry in objects)]
    return CaptionedImage(
        image_id=_id(image["id"]),
        load=partial(read_below, home / image["file_name"], (home.resolve(),)),
        captions=tuple(caption for caption in captions[_id(image["id"])] if caption),
        boxes=tuple(corners),
        classes=tuple(names[_id(entry["category_id"])] for entry in objects),
        width=int(image.get("width") or 0),
        height=int(image.get("height") or 0),
    )


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
