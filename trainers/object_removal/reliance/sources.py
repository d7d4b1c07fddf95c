"""The ways in which datasets say where their objects are; the first that gives images is used."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice, SceneChoice
from trainers.data import load_data, named
from trainers.data.captioned.columns import CaptionedColumns, corners, decide, find_columns, objects_of
from trainers.data.captioned.loader import load_chosen
from trainers.data.captioned.loader import named as captions_named
from trainers.data.captioned_images import CaptionedImage
from trainers.data.decode import header, square, with_channels
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.datasets import drawn
from trainers.data.labelled.datasets.drawn import Reliefs, Shot
from trainers.data.labelled.loader import open_source
from trainers.data.labelled.rows import EncodedImages, Part, Selection
from trainers.data.labelled.selection import select
from trainers.data.labelled.splits import repeated
from trainers.data.labelled.table import ArrowTable
from trainers.data.synthetic.scenes import drawing_of
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy
from trainers.object_removal.reliance.objects import (
    ObjectImages,
    ObjectRequest,
    class_masks,
    fingerprint,
    square_mask,
    square_masks,
)
from trainers.object_removal.square_images import check_memory
from trainers.progress import part_of

_MASK = re.compile(r"(^|_)(mask|masks|segmentation|trimap|matte)($|_)", re.IGNORECASE)
_AT_ONCE = 64  # encoded images held at a time
_NOTHING_KNOWN = (
    "{} does not say where the objects are, so none can be removed. Choose the drawn pots, the drawn scenes, COCO or "
    "another dataset with a column of boxes or masks, or draw over the object of an image."
)
_SAYING = ("*.json*", "*.csv", "*.parquet", "*.arrow", "*/metadata.*", "*/*.parquet", "*/*.arrow", "[aA]nnotations/*")
"""Files of a folder beside its images, in which objects may be said."""


def why_unknown(data: object) -> str | None:
    """Say why the objects in a dataset cannot be known, or None where they may be; nothing of it is read.

    Args:
        data: labelled images, or scenes with objects in any form.
    """
    if not isinstance(data, DataChoice):
        return None
    source = named(data.source)
    silent = source is not drawn.DESCRIPTOR if source is not None else _images_alone(data.source)
    return _NOTHING_KNOWN.format(_title(data.source)) if silent else None


@lru_cache(maxsize=64)
def _images_alone(source: str) -> bool:
    try:
        folder = Path(source).expanduser()
        return folder.is_dir() and not any(any(folder.glob(pattern)) for pattern in _SAYING)
    except (OSError, RuntimeError, ValueError):
        return False


def _title(source: str) -> str:
    return source.rstrip("/").rsplit("/", 1)[-1]


def load_objects(request: ObjectRequest) -> ObjectImages:
    """Load the images of the first source that knows their objects.

    Raises:
        DataError: the dataset cannot be read, or knows of no objects.
    """
    reasons = []
    for load in (_pots, _columns, _captioned):
        try:
            objects = load(request)
        except DataError as error:
            reasons.append(error)
            continue
        if objects is not None:
            return objects
    if len(reasons) > 1:  # it could be read neither with labels nor with captions
        raise reasons[0]
    raise DataError(_NOTHING_KNOWN.format(_title(request.data.source))) from (reasons[0] if reasons else None)


def _pots(request: ObjectRequest) -> ObjectImages | None:
    if isinstance(request.data, SceneChoice) or named(request.data.source) is not drawn.DESCRIPTOR:
        return None
    choice = dataclasses.replace(request.data, image_size=request.side)
    data = load_data(choice, request.progress)
    shots = drawn.test_shots(choice)[: request.limit]
    images = with_channels(data.test.images[: request.limit], request.channels)
    labels = data.test.labels[: request.limit].numpy()
    again = _Again(shots=shots, side=request.side, channels=request.channels, seed=choice.seed)
    return ObjectImages(
        title=data.title,
        images=images,
        labels=labels,
        hierarchy=data.hierarchy,
        rows=np.arange(len(shots)),
        masks=again.masks,
        redrawn=again.empty,
        test_set=request.test_set,
        key=fingerprint(images, labels, "drawn", drawn.drawing_code(), choice.seed, choice.held_out),
    )


@dataclass(frozen=True, kw_only=True)
class _Again:
    """Draws the images of shots again, as an encoder takes them."""

    shots: Sequence[Shot]
    side: int
    channels: int
    seed: int

    def masks(self, indices: np.ndarray) -> np.ndarray:
        reliefs: Reliefs = {}
        masks = np.zeros((len(indices), self.side, self.side), dtype=bool)
        for mask, at in zip(masks, indices.tolist(), strict=True):
            mask[...] = drawn.pot_mask(self.shots[at], self.side, self.seed, reliefs)
        return masks

    def empty(self, indices: np.ndarray) -> Tensor:
        """Draw images without the pot."""
        reliefs: Reliefs = {}
        images = np.empty((len(indices), 3, self.side, self.side), dtype=np.uint8)
        for image, at in zip(images, indices.tolist(), strict=True):
            image[...] = drawn.draw_shot(self.shots[at], self.side, self.seed, reliefs, empty=True)
        return with_channels(torch.from_numpy(images), self.channels)


def _columns(request: ObjectRequest) -> ObjectImages | None:
    data = request.data
    if isinstance(data, SceneChoice) or named(data.source) is not None or captions_named(data.source) is not None:
        return None
    opened = open_source(data, metadata=True)
    splits = opened.read(part_of(request.progress, 0.0, 0.3))
    tables = [table for table in splits.tables.values() if isinstance(table, ArrowTable)]
    if not any(_mask_column(table) or find_columns(table).box_key for table in tables):
        return None
    try:
        selection = select(splits, data)
    except DataError:  # no labels: another source may have classes for these images
        return None
    if not selection.labelled:
        return None
    return _labelled(selection, request, opened.title)


def _labelled(selection: Selection, request: ObjectRequest, title: str) -> ObjectImages:
    part = selection.test
    check_memory(len(part.rows), [request.side])
    masks = _masks(selection, part, request.side)
    images, good = [], []
    tell = part_of(request.progress, 0.3, 1.0)
    fetch = EncodedImages(selection=selection, part=part)
    for first in range(0, len(part.rows), _AT_ONCE):
        tell(f"reading images: {first:,} of {len(part.rows):,}", first / len(part.rows))
        indices = np.arange(first, min(first + _AT_ONCE, len(part.rows)))
        for index, data in zip(indices.tolist(), fetch(indices), strict=True):
            try:
                images.append(_square(data, request))
            except UndecodableError:
                continue
            good.append(index)
    if not images:
        raise DataError(f"None of the {len(part.rows)} test images of {title} can be read.")
    kept, pixels = np.array(good), torch.stack(images)
    lost = len(part.rows) - len(kept)
    if selection.least > 1:  # as the loader: classes of one readable image are left out
        several = repeated(part.labels[kept, 0])
        kept, pixels = kept[several], pixels[torch.from_numpy(several)]
    kept, pixels = kept[: request.limit], pixels[: request.limit]
    labels, masks = part.labels[kept], masks[kept]
    return ObjectImages(
        title=title,
        images=pixels,
        labels=labels,
        hierarchy=selection.hierarchy,
        rows=np.arange(len(kept)),
        masks=lambda indices: masks[indices],
        test_set=request.test_set,
        notes=(f"{lost} images could not be read and were left out.",) if lost else (),
        key=fingerprint(pixels, labels, masks.tobytes()),
    )


def _masks(selection: Selection, part: Part, side: int) -> np.ndarray:
    """Read the object of each image of the part, bool ``[n, S, S]``; of a damaged cell all False."""
    masks = np.zeros((len(part.rows), side, side), dtype=bool)
    for owner, table in enumerate(selection.tables):
        indices = np.flatnonzero(part.owner == owner)
        if not len(indices) or not isinstance(table, ArrowTable):
            continue
        column = _mask_column(table)
        if column is not None:
            masks[indices] = _painted(table, column, part.rows[indices], side)
        elif find_columns(table).box_key:
            masks[indices] = _boxed(table, selection.columns[owner], part.rows[indices], side)
    return masks


def _painted(table: ArrowTable, column: str, rows: np.ndarray, side: int) -> np.ndarray:
    """Read masks from images in which the object is not black."""
    masks = np.zeros((len(rows), side, side), dtype=bool)
    for mask, data in zip(masks, _encoded(table, column, rows), strict=True):
        with suppress(UndecodableError):
            mask[...] = square_mask(square(data, min(header(data)[:2])).max(axis=0) > 0, side)
    return masks


def _boxed(table: ArrowTable, images: str, rows: np.ndarray, side: int) -> np.ndarray:
    columns = find_columns(table)
    objects = [_boxes(cell, columns) for cell in table.values(columns.objects or str(columns.box_key))]
    sizes = [_size(data) for data in _encoded(table, images, rows)]
    there = [(box, size) for row, size in zip(rows.tolist(), sizes, strict=True) for box in objects[row]]
    if not there:
        return np.zeros((len(rows), side, side), dtype=bool)
    reading = decide(np.array([box for box, _ in there]), np.array([size for _, size in there], dtype=np.float64))
    boxes = [
        [corners(box, reading, *size) for box in objects[row]] for row, size in zip(rows.tolist(), sizes, strict=True)
    ]
    return square_masks(boxes, sizes, side)


def _boxes(cell: Any, columns: CaptionedColumns) -> list[Sequence[float]]:
    """Read the boxes in one cell: of a column of structs, or a column that is a box or a list of boxes itself."""
    if columns.objects is not None:
        if columns.class_key is not None:
            return [box for box, _, _ in objects_of(cell, columns)]
        cell = cell.get(columns.box_key) if isinstance(cell, dict) else [box.get(columns.box_key) for box in cell or []]
    if not isinstance(cell, list) or not cell:
        return []
    listed = cell if isinstance(cell[0], list) else [cell]
    return [[float(v) for v in box] for box in listed if box and len(box) == 4 and all(v is not None for v in box)]


def _encoded(table: ArrowTable, column: str, rows: np.ndarray) -> Iterator[bytes]:
    """Yield the bytes of images; none where there is no image."""
    for first in range(0, len(rows), _AT_ONCE):
        yield from (data or b"" for data in table.images(column, rows[first : first + _AT_ONCE]))


def _size(data: bytes) -> tuple[int, int]:
    """Read the width and height of an original; 0 where it cannot be read."""
    try:
        return header(data)[:2]
    except UndecodableError:
        return 0, 0


def _mask_column(table: ArrowTable) -> str | None:
    return next((name for name in table.image_columns[1:] if _MASK.search(name)), None)


@dataclass(frozen=True, kw_only=True)
class _Main:
    """An image with its largest object: its class, the pixels of that class bool ``[S, S]``, uint8 ``[C, S, S]``."""

    index: int
    scene: CaptionedImage
    name: str
    mask: np.ndarray
    pixels: Tensor


def _captioned(request: ObjectRequest) -> ObjectImages | None:
    data = request.data
    choice = data if isinstance(data, SceneChoice) else SceneChoice(source=data.source)
    dataset = load_chosen(choice, request.progress)
    names = [dataset.test_split] if request.test_set else list(dataset.splits)
    scenes = [scene for name in names for scene in dataset.splits[name]]
    if not any(scene.boxes for scene in scenes):
        return None
    check_memory(min(request.limit, len(scenes)), [request.side])
    mains, unread = _read(scenes, request)
    if not mains:
        raise DataError(f"{dataset.title} has no image with an object that can be read.")
    images = torch.stack([main.pixels for main in mains])
    masks = np.stack([main.mask for main in mains])
    labels, hierarchy = _labels([main.name for main in mains], dataset.broader)
    notes = [f"An image's class is that of its largest object, of {len(hierarchy.names[0])} classes."]
    if unread:
        notes.append(f"{unread} images could not be read, or show no object in their centre square.")

    def empty(indices: np.ndarray) -> Tensor:
        return with_channels(_without([mains[at] for at in indices.tolist()], request.side), request.channels)

    may_be_drawn = all(drawing_of(main.scene) is not None for main in mains)
    return ObjectImages(
        title=dataset.title,
        images=images,
        labels=labels,
        hierarchy=hierarchy,
        rows=np.array([main.index for main in mains]),
        ids=tuple(main.scene.image_id for main in mains),
        masks=lambda indices: masks[indices],
        classes=lambda index: class_masks(mains[index].scene, request.side),
        redrawn=empty if may_be_drawn else None,
        test_set=request.test_set,
        notes=tuple(notes),
        key=fingerprint(images, labels, masks.tobytes()),
    )


def _read(scenes: Sequence[CaptionedImage], request: ObjectRequest) -> tuple[list[_Main], int]:
    """Read the images with an object in their centre square; also return how many have none or cannot be read."""
    mains: list[_Main] = []
    unread = 0
    for index, scene in enumerate(scenes):
        if len(mains) >= request.limit:
            break
        if index % 16 == 0:
            request.progress(f"reading images: {index:,} of {len(scenes):,}", index / len(scenes))
        main = _main(index, scene, request)
        if main is None:
            unread += 1
        else:
            mains.append(main)
    return mains, unread


def _main(index: int, scene: CaptionedImage, request: ObjectRequest) -> _Main | None:
    if not scene.boxes:
        return None
    try:
        of_class, pixels = class_masks(scene, request.side), _square(scene.load(), request)
    except (UndecodableError, DataError, OSError):
        return None
    largest = max(of_class, key=lambda name: int(of_class[name].sum()))
    if not of_class[largest].any():
        return None
    return _Main(index=index, scene=scene, name=largest, mask=of_class[largest], pixels=pixels)


def _labels(names: Sequence[str], broader: Mapping[str, str]) -> tuple[np.ndarray, Hierarchy]:
    """Label by class and, where it is known, the broader one, int64 ``[N, L]``; a class without one is its own."""
    columns = [list(names)]
    levels = ["class"]
    if any(name in broader for name in names):
        columns.append([broader.get(name, name) for name in names])
        levels.append("supercategory")
    listed = [tuple(sorted(set(column))) for column in columns]
    number_of = [{name: at for at, name in enumerate(names_of)} for names_of in listed]
    labels = [[at[name] for at, name in zip(number_of, row, strict=True)] for row in zip(*columns, strict=True)]
    return np.array(labels), Hierarchy(levels=tuple(levels), names=tuple(listed))


def _square(data: bytes | None, request: ObjectRequest) -> Tensor:
    """Decode the centre square of an image as an encoder takes it, uint8 ``[C, S, S]``; raises UndecodableError."""
    return with_channels(torch.from_numpy(np.array(square(data or b"", request.side)))[None], request.channels)[0]


def _without(mains: Sequence[_Main], side: int) -> Tensor:
    """Draw scenes without the class of their largest object, uint8 ``[n, 3, S, S]``."""
    images = []
    for main in mains:
        assert main.scene.without is not None
        images.append(torch.from_numpy(np.array(square(main.scene.without((main.name,)), side))))
    return torch.stack(images) if images else torch.zeros(0, 3, side, side, dtype=torch.uint8)
