"""Any folder or Hub dataset whose columns hold images and captions, and boxes where there are any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trainers.config import DataChoice
from trainers.data import decode
from trainers.data.base import Progress
from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest
from trainers.data.captioned.box_format import BoxReading, corners, decide
from trainers.data.captioned.columns import SceneColumns, captions_of, find_columns, objects_of
from trainers.data.captioned.scenes import Scene, SceneSet
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.loader import open_source
from trainers.data.labelled.opening import Opened
from trainers.data.labelled.table import ArrowTable, Table
from trainers.errors import DataError

_LOOKED_AT = 1000  # images whose boxes decide how boxes are read


def load(request: CaptionedRequest) -> SceneSet:
    """Find the columns with images, captions, boxes and classes, and read them.

    Raises:
        DataError: a column is missing, or the dataset cannot be read.
    """
    source, captions_from, limit, report = request.source, request.captions_from, request.limit, request.progress
    report(f"Opening {source}", 0.0)
    opened, tables = _tables(source, report)
    columns = {name: find_columns(table) for name, table in tables.items()}
    joined: Mapping[str, tuple[str, ...]] = {}
    if captions_from is not None:
        report(f"Reading captions of {captions_from}", 0.5)
        joined = _captions_by_id(captions_from, report, _ids(tables, columns, limit))
    _check(source, columns, joined if captions_from is not None else None)
    report("reading captions and boxes", 0.9)
    parts = {
        name: list(_rows(table, columns[name], joined, _first(table, limit)))
        for name, table in tables.items()
        if len(table)
    }
    reading = _reading([row for rows in parts.values() for row in rows])
    splits = {name: tuple(row.scene(reading) for row in rows) for name, rows in parts.items()}
    return SceneSet(
        title=opened.title,
        licence=opened.licence,
        splits=splits,
        classes=_classes(columns, splits),
        notes=_notes(splits, reading, captions_from),
    )


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A scene whose boxes are not read yet."""

    plain: Scene
    objects: list[tuple[list[float], str, float]]

    def scene(self, reading: BoxReading | None) -> Scene:
        if reading is None:
            return self.plain
        width, height = self.plain.width, self.plain.height
        return replace(
            self.plain,
            boxes=tuple(corners(box, reading, width, height) for box, _, _ in self.objects),
            classes=tuple(name for _, name, _ in self.objects),
        )


def _tables(source: str, report: Progress) -> tuple[Opened, dict[str, ArrowTable]]:
    opened = open_source(DataChoice(source=source))
    splits = opened.read(report).tables
    tables = {name: table for name, table in splits.items() if isinstance(table, ArrowTable)}
    if not tables:
        raise DataError(f"{source!r} is a folder of images without captions. Give a dataset with a caption column.")
    return opened, tables


def _first(table: ArrowTable, limit: int | None) -> int:
    """How many rows of a split are listed at all."""
    return len(table) if limit is None else min(len(table), limit)


def _ids(tables: Mapping[str, ArrowTable], columns: Mapping[str, SceneColumns], limit: int | None) -> set[str]:
    """Ids of the images that are read."""
    named = [(table, columns[name].image_id) for name, table in tables.items()]
    return {_id(value) for table, ids in named if ids for value in table.values(ids, _first(table, limit))}


def _captions_by_id(source: str, report: Progress, wanted: set[str]) -> dict[str, tuple[str, ...]]:
    """Captions of the wanted images only: the other dataset may be far larger."""
    captions: dict[str, tuple[str, ...]] = {}
    for table in _tables(source, report)[1].values():
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


def _check(source: str, columns: Mapping[str, SceneColumns], joined: Mapping[str, Any] | None) -> None:
    for split, own in columns.items():
        if own.image is None:
            raise DataError(f"{source!r} has no image column in split {split!r}; give a dataset with images.")
        if joined is None and not own.captions:
            raise DataError(
                f"{source!r} has no caption column in split {split!r}. Name a second dataset with the captions of the "
                "same images; the two are joined by image id."
            )
        if joined is not None and own.image_id is None:
            raise DataError(
                f"{source!r} has no image id column in split {split!r}, so captions cannot be joined to it."
            )


def _rows(table: ArrowTable, columns: SceneColumns, joined: Mapping[str, tuple[str, ...]], count: int) -> Any:
    ids = table.values(columns.image_id, count) if columns.image_id else range(count)
    own = list(zip(*(table.values(name, count) for name in columns.captions), strict=True)) or [()] * count
    objects = _object_cells(table, columns, count)
    sizes = [table.values(name, count) if name in table.kinds else [0] * count for name in ("width", "height")]
    for row, number in enumerate(ids):
        image_id = _id(number)
        load = _loader(table, str(columns.image), row)
        width, height = int(sizes[0][row] or 0), int(sizes[1][row] or 0)
        listed = objects_of(objects[row], columns) if columns.box_key else []
        if listed and not (width and height):
            width, height = _size(load())
        plain = Scene(
            image_id=image_id,
            load=load,
            captions=joined.get(image_id, ()) if joined else captions_of(own[row]),
            boxes=(),
            classes=(),
            width=width,
            height=height,
        )
        yield _Row(plain=plain, objects=listed)


def _object_cells(table: ArrowTable, columns: SceneColumns, count: int) -> list[Any]:
    if columns.box_key is None:
        return []
    if columns.objects is not None:
        return table.values(columns.objects, count)
    keys = [key for key in (columns.box_key, columns.class_key) if key is not None]
    return [
        dict(zip(keys, cells, strict=True)) for cells in zip(*(table.values(key, count) for key in keys), strict=True)
    ]


def _loader(table: Table, column: str, row: int) -> Callable[[], bytes | None]:
    return lambda: table.images(column, np.array([row]))[0]


def _size(data: bytes | None) -> tuple[int, int]:
    try:
        return decode.header(data or b"")[:2]
    except UndecodableError:
        return 0, 0


def _reading(rows: list[_Row]) -> BoxReading | None:
    looked = [row for row in rows if row.objects][:_LOOKED_AT]
    if not looked:
        return None
    boxes = np.array([box for row in looked for box, _, _ in row.objects])
    sizes = np.array([(row.plain.width, row.plain.height) for row in looked for _ in row.objects], dtype=np.float64)
    areas = np.array([area for row in looked for _, _, area in row.objects])
    return decide(boxes, sizes, areas)


def _classes(columns: Mapping[str, SceneColumns], splits: Mapping[str, tuple[Scene, ...]]) -> tuple[str, ...]:
    listed = dict.fromkeys(name for each in columns.values() for name in each.names)
    seen = {name for scenes in splits.values() for scene in scenes for name in scene.classes}
    return tuple(listed) or tuple(sorted(seen))


def _notes(
    splits: Mapping[str, tuple[Scene, ...]], reading: BoxReading | None, captions_from: str | None
) -> tuple[str, ...]:
    scenes = [scene for part in splits.values() for scene in part]
    silent_ones = sum(not scene.captions for scene in scenes)
    bare = sum(not scene.boxes for scene in scenes)
    notes = [reading.note] if reading is not None else ["This dataset has no boxes: draw them, or brush the object."]
    if captions_from is not None:
        notes.append(f"Captions of {len(scenes) - silent_ones} of {len(scenes)} images were found in {captions_from}.")
    elif silent_ones:
        notes.append(f"{silent_ones} images have no caption.")
    if reading is not None and bare:
        notes.append(f"{bare} images have no box.")
    return tuple(notes)


def _id(value: Any) -> str:
    """Ids as text; a file name stands for the number it ends on, as COCO's do."""
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
