"""Labelled datasets with a column of boxes or masks beside their labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch

from trainers.config import SceneChoice
from trainers.data import named
from trainers.data.captioned.box_format import corners, decide
from trainers.data.captioned.columns import CaptionedColumns, find_columns, objects_of
from trainers.data.captioned.loader import named as captions_named
from trainers.data.decode import header, square
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.loader import open_source
from trainers.data.labelled.rows import EncodedImages, Part, Selection
from trainers.data.labelled.selection import select
from trainers.data.labelled.splits import repeated
from trainers.data.labelled.table import ArrowTable
from trainers.data.query_image import with_channels
from trainers.errors import DataError
from trainers.object_removal.reliance.objects import ObjectImages, fingerprint, square_mask, square_masks
from trainers.object_removal.reliance.sources.base import ObjectRequest, ObjectSource
from trainers.object_removal.square_images import check_memory
from trainers.progress import part_of

_MASK = re.compile(r"(^|_)(mask|masks|segmentation|trimap|matte)($|_)", re.IGNORECASE)
_AT_ONCE = 64  # encoded images held at a time


def _load(request: ObjectRequest) -> ObjectImages | None:
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
    return _read(selection, request, opened.title)


def _read(selection: Selection, request: ObjectRequest, title: str) -> ObjectImages:
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
                pixels = torch.from_numpy(np.array(square(data or b"", request.side)))[None]
            except UndecodableError:
                continue
            images.append(with_channels(pixels, request.channels)[0])
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
    for first in range(0, len(rows), _AT_ONCE):
        for index, data in enumerate(table.images(column, rows[first : first + _AT_ONCE]), start=first):
            try:
                edge = min(header(data or b"")[:2])
                masks[index] = square_mask(square(data or b"", edge).max(axis=0) > 0, side)
            except UndecodableError:
                continue
    return masks


def _boxed(table: ArrowTable, images: str, rows: np.ndarray, side: int) -> np.ndarray:
    columns = find_columns(table)
    objects = [_boxes(cell, columns) for cell in _cells(table, columns)]
    sizes = _sizes(table, images, rows)
    there = [(box, size) for row, size in zip(rows.tolist(), sizes, strict=True) for box in objects[row]]
    if not there:
        return np.zeros((len(rows), side, side), dtype=bool)
    reading = decide(np.array([box for box, _ in there]), np.array([size for _, size in there], dtype=np.float64))
    boxes = [
        [corners(box, reading, *size) for box in objects[row]] for row, size in zip(rows.tolist(), sizes, strict=True)
    ]
    return square_masks(boxes, sizes, side)


def _cells(table: ArrowTable, columns: CaptionedColumns) -> list[object]:
    return table.values(columns.objects or str(columns.box_key))


def _boxes(cell: object, columns: CaptionedColumns) -> list[Sequence[float]]:
    """Read the boxes in one cell: of a column of structs, or a column that is a box or a list of boxes itself."""
    if columns.objects is not None:
        if columns.class_key is not None:
            return [box for box, _, _ in objects_of(cell, columns)]
        held = cell.get(columns.box_key) if isinstance(cell, dict) else [box.get(columns.box_key) for box in cell or []]  # type: ignore[attr-defined]
        cell = held
    if not isinstance(cell, list) or not cell:
        return []
    listed = cell if isinstance(cell[0], list) else [cell]
    return [[float(v) for v in box] for box in listed if box and len(box) == 4 and all(v is not None for v in box)]


def _sizes(table: ArrowTable, images: str, rows: np.ndarray) -> list[tuple[int, int]]:
    """Read the width and height of the originals; 0 where an image cannot be read."""
    sizes: list[tuple[int, int]] = []
    for first in range(0, len(rows), _AT_ONCE):
        for data in table.images(images, rows[first : first + _AT_ONCE]):
            try:
                sizes.append(header(data or b"")[:2])
            except UndecodableError:
                sizes.append((0, 0))
    return sizes


def _mask_column(table: ArrowTable) -> str | None:
    return next((name for name in table.image_columns[1:] if _MASK.search(name)), None)


DESCRIPTOR = ObjectSource(
    name="columns",
    title="Labels and boxes",
    sentence="A labelled dataset with a column of boxes or masks.",
    load=_load,
    order=10,
)
