"""The columns of a dataset that hold captions, boxes, classes and image ids, and their cells as plain values."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trainers.data.captioned_images import Box
from trainers.data.labelled.table import ArrowTable

BoxFormat = Literal["xywh", "xyxy"]
_SLACK = 1.5  # pixels a box may stick out by rounding


@dataclass(frozen=True, kw_only=True)
class BoxReading:
    """The format of boxes. ``unit``: values are shares of the image, 0 to 1, instead of pixels."""

    format: BoxFormat
    unit: bool
    note: str


def decide(boxes: np.ndarray, sizes: np.ndarray, areas: np.ndarray | None = None) -> BoxReading:
    """Choose the reading under which fewer boxes are impossible; when both fit equally, COCO's x, y, width, height.

    Args:
        boxes: float64 ``[N, 4]``.
        sizes: float64 ``[N, 2]``, width and height of each box's image; 0 where unknown.
        areas: float64 ``[N]``, areas of the objects, which no box is smaller than; None or NaN where unknown.
    """
    fine = np.isfinite(boxes).all(axis=1)
    boxes, sizes = boxes[fine], np.where(sizes[fine] > 0, sizes[fine], np.inf)
    areas = None if areas is None else areas[fine]
    unit = bool(len(boxes)) and float(boxes.max()) <= 1.01 and float(np.median(sizes)) > 2
    if unit:
        sizes = np.ones_like(sizes)
    slack = 0.01 if unit else _SLACK
    a, b, c, d = boxes.T if len(boxes) else np.zeros((4, 0))
    beyond = (a + c > sizes[:, 0] + slack) | (b + d > sizes[:, 1] + slack)
    turned = (c < a) | (d < b) | (c > sizes[:, 0] + slack) | (d > sizes[:, 1] + slack)
    if areas is not None and not unit:
        known = np.isfinite(areas)
        beyond |= known & (c * d < 0.98 * areas - slack)
        turned |= known & ((c - a) * (d - b) < 0.98 * areas - slack)
    format_: BoxFormat = "xyxy" if turned.sum() < beyond.sum() else "xywh"
    words = {"xyxy": "two corners", "xywh": "a corner, width and height"}[format_]
    share = ", as shares of the image" if unit else ""
    wrong = int(min(turned.sum(), beyond.sum())) if len(boxes) else 0
    note = f"Boxes are read as {words}{share}: {wrong} of {len(boxes)} boxes do not fit that reading."
    return BoxReading(format=format_, unit=unit, note=note)


def corners(box: Sequence[float], reading: BoxReading, width: int, height: int) -> Box:
    """Convert one box to x0, y0, x1, y1 in pixels."""
    a, b, c, d = (float(value) for value in box)
    if reading.format == "xywh":
        c, d = a + c, b + d
    if reading.unit:
        a, b, c, d = a * width, b * height, c * width, d * height
    return a, b, c, d


_CAPTIONS = re.compile(r"captions?|sentences?|texts?|raw|descriptions?")
_NUMBERED = re.compile(r"(?:captions?|sentences?|texts?)_?(\d+)")
_BOXES = ("bbox", "bboxes", "box", "boxes")
_CLASSES = ("category", "categories", "label", "labels", "class", "classes", "category_name", "name", "category_id")
Object = tuple[list[float], str, float]
"""Four numbers of a box, the name of its class, and the area of the object, NaN if unknown."""
_IDS = ("image_id", "cocoid", "coco_id", "img_id", "imgid", "id", "filename", "file_name")


@dataclass(frozen=True, kw_only=True)
class CaptionedColumns:
    """Column names, each None (or empty) if the dataset has none.

    Attributes:
        captions: one column of texts or lists, or several of one text each.
        objects: a list of structs or a struct of lists with boxes and classes; or None when boxes and classes
            are columns themselves.
        box_key, class_key: names inside ``objects``, or of the columns.
        names: class names by number, empty when the cells hold names.
    """

    image: str | None
    image_id: str | None
    captions: tuple[str, ...]
    objects: str | None
    box_key: str | None
    class_key: str | None
    names: tuple[str, ...]


def find_columns(table: ArrowTable) -> CaptionedColumns:
    """Look at names and types; nothing is read."""
    features = table.features
    images = table.image_columns
    numbered = sorted((int(m[1]), name) for name in features if (m := _NUMBERED.fullmatch(name.lower())))
    single = [name for name in features if _CAPTIONS.fullmatch(name.lower()) and name not in images]
    captions = tuple(name for _, name in numbered) or tuple(single[:1])
    lowered = {name.lower(): name for name in features}
    objects = box = key = None
    names: tuple[str, ...] = ()
    for column, feature in {**features, "": dict(features)}.items():
        inner = _struct(feature)
        box = next((name for name in _BOXES if name in inner), None)
        if box is not None:
            objects, key = column or None, next((name for name in _CLASSES if name in inner), None)
            names = () if key is None else _names(inner.get(key))
            break
    return CaptionedColumns(
        image=images[0] if images else None,
        image_id=next((lowered[name] for name in _IDS if name in lowered), None),
        captions=captions,
        objects=objects,
        box_key=box,
        class_key=key,
        names=names,
    )


def captions_of(cells: Sequence[Any]) -> tuple[str, ...]:
    """Return the captions in one row's caption cells: texts, lists of texts, or structs with ``raw`` or ``caption``."""
    texts: list[str] = []
    for cell in cells:
        if isinstance(cell, str):
            texts.append(cell)
        elif isinstance(cell, dict):
            inner = next((cell[name] for name in ("raw", "caption", "text") if name in cell), None)
            texts.extend(captions_of(inner if isinstance(inner, list) else [inner]))
        elif isinstance(cell, (list, tuple)):
            texts.extend(captions_of(cell))
    return tuple(text.strip() for text in texts if text and text.strip())


def objects_of(cell: Any, columns: CaptionedColumns) -> list[Object]:
    """Return the objects in one row's cell, a list of structs or a struct of lists; not those without class or box."""
    if isinstance(cell, dict):
        boxes, classes = cell.get(columns.box_key) or [], cell.get(columns.class_key) or []
        areas = cell.get("area") or [None] * len(boxes)
        rows = list(zip(boxes, classes, areas, strict=False))
    else:
        structs = filter(None, cell or [])
        rows = [(item.get(columns.box_key), item.get(columns.class_key), item.get("area")) for item in structs]
    objects = []
    for box, label, area in rows:
        name = _class_name(label, columns.names)
        if name and box is not None and len(box) == 4 and all(value is not None for value in box):
            objects.append(([float(value) for value in box], name, math.nan if area is None else float(area)))
    return objects


def _class_name(label: Any, names: tuple[str, ...]) -> str | None:
    if isinstance(label, str):
        return label.strip() or None
    if label is None:
        return None
    number = int(label)
    if names:
        return names[number] if 0 <= number < len(names) else None
    return f"class {number}"


def _struct(feature: Any) -> dict[str, Any]:
    """Return the features in a struct or in a list of structs; empty for others."""
    inner = getattr(feature, "feature", feature)
    return inner if isinstance(inner, dict) else {}


def _names(feature: Any) -> tuple[str, ...]:
    while feature is not None and not hasattr(feature, "names"):
        feature = getattr(feature, "feature", None)
    return tuple(getattr(feature, "names", None) or ())
