"""One split as columns: label columns as codes with names, the image column as encoded bytes, not yet decoded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

Kind = Literal["image", "class", "whole number", "text", "true or false", "other"]
LABEL_KINDS = ("class", "text", "whole number", "true or false")
"""Kinds that can be labels, the most trustworthy first."""


@dataclass(frozen=True, kw_only=True)
class Codes:
    """A label column: ``values`` int64 [N] index ``names``; -1 where the label is missing."""

    values: np.ndarray
    names: tuple[str, ...]


class Table(ABC):
    """One split. ``kinds`` maps column names, in order, to what they hold."""

    kinds: dict[str, Kind]

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows N."""

    @abstractmethod
    def codes(self, column: str) -> Codes:
        """A label column of all rows."""

    @abstractmethod
    def pictures(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        """Encoded images of the rows (int64 [n], any order); None where there is none."""


class ArrowTable(Table):
    """A split that ``datasets`` opened.

    Args:
        dataset: a ``datasets.Dataset``.
        roots: folders from which rows that hold a path instead of bytes may read; a path elsewhere counts as no image.
    """

    def __init__(self, dataset: Any, roots: Sequence[Path] = ()) -> None:
        import datasets

        self.kinds = {name: _kind(name, feature) for name, feature in dataset.features.items()}
        self._features = dataset.features
        self._roots = tuple(root.resolve() for root in roots)
        plain = {
            name: datasets.Image(decode=False)
            for name, feature in dataset.features.items()
            if isinstance(feature, datasets.Image)
        }
        for name, feature in plain.items():
            dataset = dataset.cast_column(name, feature)
        self._rows = dataset.with_format("arrow")
        self._count = len(dataset)

    def __len__(self) -> int:
        return self._count

    def codes(self, column: str) -> Codes:
        values = self._rows.select_columns([column])[:].column(column)
        if self.kinds[column] == "class":
            names = tuple(self._features[column].names or ())
            numbers = np.asarray(values.fill_null(-1).to_numpy(), dtype=np.int64)
            return Codes(values=np.where((numbers >= 0) & (numbers < len(names)), numbers, -1), names=names)
        return encode(values.to_pylist())

    @property
    def features(self) -> Any:
        """``datasets.Features`` of the columns, with images not decoded."""
        return self._features

    def values(self, column: str) -> list[Any]:
        """A column of all rows as plain Python values, whatever it holds."""
        return self._rows.select_columns([column])[:].column(column).to_pylist()

    def pictures(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        ordered = np.argsort(rows, kind="stable")
        # Rows are fetched in file order: random access inside an Arrow file costs a page fault each.
        cells = self._rows.select_columns([column])[rows[ordered]].column(column).to_pylist()
        found: list[bytes | None] = [None] * len(rows)
        for place, cell in zip(ordered, cells, strict=True):
            found[place] = self._bytes(cell)
        return found

    def _bytes(self, cell: Any) -> bytes | None:
        if isinstance(cell, (bytes, bytearray)):
            return bytes(cell)
        if not isinstance(cell, dict):
            return None
        if cell.get("bytes"):
            return bytes(cell["bytes"])
        return self._file(cell.get("path"))

    def _file(self, name: str | None) -> bytes | None:
        # A downloaded table may name any path of this machine, so only the set's own folders are read.
        if not name or "://" in name:
            return None
        path = Path(name).resolve()
        if not any(root in path.parents for root in self._roots) or not path.is_file():
            return None
        try:
            return path.read_bytes()
        except OSError:
            return None


def encode(values: Sequence[Any]) -> Codes:
    """Give plain values codes in sorted order (numbers by size, text by letter); None and blank text become -1."""
    cleaned = [_clean(value) for value in values]
    distinct = {value for value in cleaned if value is not None}
    ordered = sorted(distinct, key=lambda value: (isinstance(value, str), value))
    place = {value: index for index, value in enumerate(ordered)}
    codes = np.fromiter((-1 if v is None else place[v] for v in cleaned), dtype=np.int64, count=len(cleaned))
    return Codes(values=codes, names=tuple(_name(value) for value in ordered))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip() or None
    return value


def _name(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _kind(name: str, feature: Any) -> Kind:
    import datasets

    if isinstance(feature, datasets.Image):
        return "image"
    if isinstance(feature, datasets.ClassLabel):
        return "class" if feature.names else "whole number"
    if isinstance(feature, dict) and "bytes" in feature:
        return "image"
    if not isinstance(feature, datasets.Value):
        return "other"
    if feature.dtype in ("binary", "large_binary"):
        return "image" if name.lower() in ("image", "img", "jpg", "jpeg", "png", "picture", "photo") else "other"
    if feature.dtype in ("string", "large_string"):
        return "text"
    if feature.dtype == "bool":
        return "true or false"
    return "whole number" if feature.dtype.startswith(("int", "uint")) else "other"
