"""Any folder or Hub dataset whose columns hold images and captions, and boxes where there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trainers.cells import counted
from trainers.config import DataChoice
from trainers.data import decode
from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest, listed_beside
from trainers.data.captioned.columns import (
    BoxReading,
    CaptionedColumns,
    Object,
    captions_of,
    corners,
    decide,
    find_columns,
    objects_of,
)
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.loader import open_source
from trainers.data.labelled.opening import OpenedDataset
from trainers.data.labelled.table import ArrowTable
from trainers.errors import DataError
from trainers.progress import Progress

_LOOKED_AT = 1000  # images whose boxes decide how boxes are read
Row = tuple[CaptionedImage, list[Object]]
"""An image without boxes, and its objects as they are stored."""


def load(request: CaptionedRequest) -> CaptionedDataset:
    """Find the columns with images, captions, boxes and classes, and read them.

    Raises:
        DataError: a column is missing, or the dataset cannot be read.
    """
    source, captions_from, report = request.source, request.captions_from, request.progress
    report(f"Opening {source}", 0.0)
    opened, tables = _open(source, report)
    columns = {name: find_columns(table) for name, table in tables.items()}
    counts = {name: len(range(len(table))[: request.limit]) for name, table in tables.items()}
    joined: Mapping[str, tuple[str, ...]] | None = None
    if captions_from is not None:
        report(f"Reading captions of {captions_from}", 0.5)
        ids = {id_ for name, table in tables.items() for id_ in _ids(table, columns[name], counts[name])}
        joined = _captions_by_id(captions_from, report, ids)
    for name, of_split in columns.items():
        _check(source, name, of_split, joined is not None)
    report("reading captions and boxes", 0.9)
    rows = {
        name: list(_rows(table, columns[name], joined, counts[name])) for name, table in tables.items() if len(table)
    }
    reading = _reading([row for part in rows.values() for row in part])
    splits = {name: tuple(_boxed(row, reading) for row in part) for name, part in rows.items()}
    images = [image for part in splits.values() for image in part]
    listed = dict.fromkeys(name for each in columns.values() for name in each.names)
    return CaptionedDataset(
        title=opened.title,
        licence=opened.licence,
        splits=splits,
        classes=tuple(listed) or tuple(sorted({name for image in images for name in image.classes})),
        notes=tuple(_notes(images, reading, captions_from)),
        broader=listed_beside(request.folder),
        revision=opened.revision,
    )


def _open(source: str, report: Progress) -> tuple[OpenedDataset, dict[str, ArrowTable]]:
    opened = open_source(DataChoice(source=source), metadata=True)
    splits = opened.read(report).tables
    tables = {name: table for name, table in splits.items() if isinstance(table, ArrowTable)}
    if not tables:
        raise DataError(f"{source!r} is a folder of images without captions. Give a dataset with a caption column.")
    return opened, tables


def _ids(table: ArrowTable, columns: CaptionedColumns, count: int) -> list[str]:
    """Return the ids of the first images; their indices where they have none."""
    return [_id(value) for value in (table.values(columns.image_id, count) if columns.image_id else range(count))]


def _captions_by_id(source: str, report: Progress, wanted: set[str]) -> dict[str, tuple[str, ...]]:
    """Read the captions of the wanted images only: the other dataset may be far larger."""
    captions: dict[str, tuple[str, ...]] = {}
    for table in _open(source, report)[1].values():
        columns = find_columns(table)
        if columns.image_id is None or not columns.captions:
            raise DataError(
                f"{source!r} needs an image id and a caption column to be joined; its columns are "
                f"{', '.join(table.kinds)}."
            )
        for rows in table.lists([columns.image_id, *columns.captions]):
            for number, *row in rows:
                if _id(number) in wanted:
                    captions[_id(number)] = captions.get(_id(number), ()) + captions_of(row)
    return captions


def _check(source: str, split: str, columns: CaptionedColumns, joined: bool) -> None:
    if columns.image is None:
        raise DataError(f"{source!r} has no image column in split {split!r}; give a dataset with images.")
    if not joined and not columns.captions:
        raise DataError(
            f"{source!r} has no caption column in split {split!r}. Name a second dataset with the captions of the "
            "same images; the two are joined by image id."
        )
    if joined and columns.image_id is None:
        raise DataError(f"{source!r} has no image id column in split {split!r}, so captions cannot be joined to it.")


def _rows(
    table: ArrowTable, columns: CaptionedColumns, joined: Mapping[str, tuple[str, ...]] | None, count: int
) -> Iterator[Row]:
    written = _side_by_side(table, columns.captions, count)
    objects = _object_cells(table, columns, count)
    sizes = [table.values(name, count) if name in table.kinds else [0] * count for name in ("width", "height")]
    for row, image_id in enumerate(_ids(table, columns, count)):
        load = _loader(table, str(columns.image), row)
        width, height = int(sizes[0][row] or 0), int(sizes[1][row] or 0)
        listed = objects_of(objects[row], columns) if columns.box_key else []
        if listed and not (width and height):
            width, height = _size(load())
        captions = joined.get(image_id, ()) if joined else captions_of(written[row])
        yield CaptionedImage(image_id=image_id, load=load, captions=captions, width=width, height=height), listed


def _object_cells(table: ArrowTable, columns: CaptionedColumns, count: int) -> list[Any]:
    if columns.box_key is None:
        return []
    if columns.objects is not None:
        return table.values(columns.objects, count)
    keys = [key for key in (columns.box_key, columns.class_key) if key is not None]
    return [dict(zip(keys, cells, strict=True)) for cells in _side_by_side(table, keys, count)]


def _side_by_side(table: ArrowTable, names: Sequence[str], count: int) -> list[tuple[Any, ...]]:
    """Return the first rows of some columns; there may be no columns."""
    return list(zip(*(table.values(name, count) for name in names), strict=True)) or [()] * count


def _loader(table: ArrowTable, column: str, row: int) -> Callable[[], bytes | None]:
    return lambda: table.images(column, np.array([row]))[0]


def _size(data: bytes | None) -> tuple[int, int]:
    try:
        return decode.header(data or b"")[:2]
    except UndecodableError:
        return 0, 0


def _reading(rows: list[Row]) -> BoxReading | None:
    """Return the format of the boxes; None: there are none."""
    looked = [row for row in rows if row[1]][:_LOOKED_AT]
    objects = [(*boxed, image.width, image.height) for image, listed in looked for boxed in listed]
    if not objects:
        return None
    boxes, _, areas, *sizes = zip(*objects, strict=True)
    return decide(np.array(boxes), np.array(sizes, dtype=np.float64).T, np.array(areas))


def _boxed(row: Row, reading: BoxReading | None) -> CaptionedImage:
    image, objects = row
    if reading is None:
        return image
    boxes = tuple(corners(box, reading, image.width, image.height) for box, _, _ in objects)
    return replace(image, boxes=boxes, classes=tuple(name for _, name, _ in objects))


def _notes(images: list[CaptionedImage], reading: BoxReading | None, captions_from: str | None) -> Iterator[str]:
    without_caption = sum(not image.captions for image in images)
    without_box = sum(not image.boxes for image in images)
    yield reading.note if reading is not None else "This dataset has no boxes: draw them, or brush the object."
    if captions_from is not None:
        total = counted(len(images), "image", "was")
        yield f"Captions of {len(images) - without_caption} of {total} found in {captions_from}."
    elif without_caption:
        yield f"{counted(without_caption, 'image', 'has')} no caption."
    if reading is not None and without_box:
        yield f"{counted(without_box, 'image', 'has')} no box."


def _id(value: Any) -> str:
    """Write an id as text; a file name stands for the number it ends on, as COCO's do."""
    text = str(value).strip()
    stem = text.rsplit("/", 1)[-1].rsplit(".", 1)[0] if not text.isdigit() else text
    number = stem.rsplit("_", 1)[-1]
    return str(int(number)) if number.isdigit() else stem


DESCRIPTOR = CaptionedDescriptor(
    name="table",
    title="Folder or Hub dataset",
    sentence="Images with a caption column, as the Datasets library reads them.",
    load=load,
    recognises=lambda _folder: True,
    order=1000,
)
