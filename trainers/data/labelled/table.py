"""One split as columns: label columns as codes with names, the image column as encoded bytes, not yet decoded."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from trainers.data.image_file import LARGEST_FILE, read_below
from trainers.data.names import composed
from trainers.errors import DataError

Kind = Literal["image", "class", "whole number", "text", "true or false", "other"]
LABEL_KINDS = ("class", "text", "whole number", "true or false")
"""Kinds that can be labels, the most trustworthy first."""
IMAGE_NAMES = ("image", "img", "jpg", "jpeg", "png", "picture", "photo", "pixel_values")
"""Names that columns of images have, in lower case, the most usual first."""
MOST_ROWS = 3_000_000
"""Rows of a split that are read; a few kilobytes of a table can hold billions of equal ones."""
MOST_NAMES = 300_000
"""Different values that a label column may have."""
_MOST_NAMED = 200_000_000  # bytes of the values, those that come again in a later slice counted again
MOST_LISTED = 200_000_000  # bytes of a column that become Python values, which take several times as much
_SLICE = 10_000  # rows looked at in one go
_MOST_OTHERS = 64  # columns that are looked at for whole numbers and lists of one


@dataclass(frozen=True, kw_only=True)
class LabelCodes:
    """A label column: ``values`` int64 [N] index ``names``; -1 where the label is missing.

    ``reason`` says why a column was given up; then it has no names.
    """

    values: np.ndarray
    names: tuple[str, ...]
    reason: str = ""

    @classmethod
    def given_up(cls, count: int, reason: str) -> LabelCodes:
        """Make the codes of a column of ``count`` rows that is not read."""
        return cls(values=np.full(count, -1, dtype=np.int64), names=(), reason=reason)


class SplitTable(ABC):
    """One split.

    Attributes:
        kinds: what the columns hold, by name, in order.
        total: rows, read or not.
        whole: rows of the split that this is a part of, about; None: it is all of it.
        attributes: what is known of the rows beside their classes, such as :data:`trainers.data.base.ROLE`, by name.
        unread: why columns of the kind "other" are none of labels, by name.
        made_of: the columns that label columns were made of, by name.
    """

    kinds: dict[str, Kind]
    total: int
    whole: int | None = None
    attributes: Mapping[str, LabelCodes] = MappingProxyType({})
    unread: Mapping[str, str] = MappingProxyType({})
    made_of: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    _codes: dict[str, LabelCodes]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows N that are read."""

    @property
    def image_columns(self) -> list[str]:
        """Columns that hold images: those called so first, the others in their order."""
        images = [name for name, kind in self.kinds.items() if kind == "image"]
        named = [name for known in IMAGE_NAMES for name in images if name.lower() == known]
        return named + [name for name in images if name not in named]

    @abstractmethod
    def codes(self, column: str) -> LabelCodes:
        """Read a label column of all rows; read once and kept."""

    def derive(self, column: str, codes: LabelCodes, of: Sequence[str]) -> None:
        """Add a label column that was made of others, which are none any more."""
        self.kinds = {**self.kinds, **dict.fromkeys(of, "other"), column: "class"}
        why = f"one of {len(of)} columns of zeros and ones, read as {column!r}"
        self.unread = {**self.unread, **dict.fromkeys(of, why)}
        self.made_of = {**self.made_of, column: tuple(of)}
        self._codes[column] = codes

    def no_images(self, column: str) -> str:
        """Say why a column holds no images."""
        return self.unread.get(column) or f"its values are of the kind {self.kinds[column]}"

    @abstractmethod
    def sizes(self, column: str, rows: np.ndarray) -> np.ndarray:
        """Return the bytes of the encoded images of the rows, int64 [n]; 0 where there is none. Reads no image."""

    @abstractmethod
    def images(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        """Read the encoded images of the rows (int64 [n], any order); None where there is none, or one is too large."""

    @abstractmethod
    def names(self, column: str, rows: np.ndarray) -> list[str]:
        """Return the file names of the images of the rows, below the dataset's folder; empty where they have none."""


@dataclass(frozen=True, kw_only=True)
class Splits:
    """All splits of a dataset.

    Attributes:
        tables: by split name.
        notes: what was left out on the way.
        tree: label columns, finest first, where the layout itself says so (nested folders).
    """

    tables: Mapping[str, SplitTable]
    notes: tuple[str, ...] = ()
    tree: tuple[str, ...] | None = None


class ArrowTable(SplitTable):
    """A split that ``datasets`` opened. Nothing in it is decoded, and no file that it names is opened on the way.

    Args:
        dataset: a ``datasets.Dataset``.
        roots: folders from which rows that hold a path instead of bytes may read; a path elsewhere counts as no image.
    """

    def __init__(self, dataset: Any, roots: Sequence[Path] = ()) -> None:
        self.kinds = {name: _kind(name, feature) for name, feature in dataset.features.items()}
        self.unread = {
            name: _unread(feature) for name, feature in dataset.features.items() if self.kinds[name] == "other"
        }
        self.total = len(dataset)
        self.features = dataset.features  # a `datasets.Features`
        self._roots = tuple(root.resolve() for root in roots)
        # As Arrow tables, cells come as they are stored: `datasets` would decode images, however deep they are nested,
        # and for that open whatever paths the cells name.
        self._rows = dataset.with_format("arrow")
        self._count = min(self.total, MOST_ROWS)
        self._alone: dict[str, Any] = {}
        self._codes = {}
        self._sizes: dict[str, np.ndarray] = {}
        self._find_alone()

    def __len__(self) -> int:
        return self._count

    def codes(self, column: str) -> LabelCodes:
        if column not in self._codes:
            self._codes[column] = self._read_codes(column)
        return self._codes[column]

    def values(self, column: str, most: int | None = None) -> list[Any]:
        """Return the first ``most`` cells of a column, or all, as plain Python values, whatever it holds.

        Raises:
            DataError: they take more than may be listed.
        """
        cells: list[Any] = []
        taken = 0
        for part in self._slices(column, self._count if most is None else min(most, self._count)):
            taken += part.nbytes
            if taken > MOST_LISTED:
                raise DataError(
                    f"Column {column!r} takes more than {MOST_LISTED // 10**6} MB in its first "
                    f"{len(cells) + len(part):,} rows. Read fewer images, or choose a dataset with shorter texts."
                )
            cells.extend(part.to_pylist())
        return cells

    def no_images(self, column: str) -> str:
        if self.kinds[column] == "text":
            first = next((str(cell) for cell in self.values(column, 20) if cell), "")
            if re.match("(https?|s3|gs)://", first):
                return "its values are addresses, which are not fetched"
            if first.startswith("data:image/") or (len(first) > 64 and re.fullmatch(r"[A-Za-z0-9+/\s]+=*", first)):
                return "its values are text that looks like images in base64"
        why = super().no_images(column)
        return f"{why}, such as pixels" if "lists" in why else why

    def sizes(self, column: str, rows: np.ndarray) -> np.ndarray:
        if column not in self._sizes:
            parts = [_lengths(part) for part in self._slices(column, self._count)]
            self._sizes[column] = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return self._sizes[column][rows]

    def images(self, column: str, rows: np.ndarray) -> list[bytes | None]:
        images: list[bytes | None] = [None] * len(rows)
        small = np.flatnonzero(self.sizes(column, rows) <= LARGEST_FILE)
        # Rows are fetched in file order: random access inside an Arrow file costs a page fault each.
        ordered = small[np.argsort(rows[small], kind="stable")]
        if not len(ordered):
            return images
        if column not in self._alone:
            self._alone[column] = self._rows.select_columns([column])
        cells = self._alone[column][rows[ordered]].column(column).to_pylist()
        for index, cell in zip(ordered, cells, strict=True):
            images[index] = self._bytes(cell)
        return images

    def names(self, column: str, rows: np.ndarray) -> list[str]:
        import pyarrow as pa
        import pyarrow.compute as pc

        every: list[str] = []
        for part in self._slices(column, self._count):
            if not pa.types.is_struct(part.type) or part.type.get_field_index("path") < 0:
                return [""] * len(rows)
            every += [self._below(path) if path else "" for path in pc.struct_field(part, "path").to_pylist()]
        return [every[row] for row in rows]

    def _below(self, name: str) -> str:
        """Return the part of a path below the dataset's folders; of one elsewhere its last part alone."""
        path = Path(name)
        for root in self._roots:
            if path.is_relative_to(root):
                return composed(path.relative_to(root).as_posix())
        return composed(path.name if path.is_absolute() or "://" in name else path.as_posix())

    def lists(self, columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Yield some columns side by side, a bounded number of rows at a time, as plain Python values."""
        rows = self._rows.select_columns(list(columns))
        for start in range(0, self._count, _SLICE):
            part = rows[start : min(start + _SLICE, self._count)]
            yield list(zip(*(part.column(name).to_pylist() for name in columns), strict=True))

    def _slices(self, column: str, count: int) -> Iterator[Any]:
        """Yield the first cells of a column as Arrow arrays of bounded length."""
        # Slices copy nothing, so all columns are sliced; choosing one first would copy what is known of every other.
        for start in range(0, count, _SLICE):
            yield self._rows[start : min(start + _SLICE, count)].column(column)

    def _find_alone(self) -> None:
        """Read as labels too: numbers that are all whole, ``3.0``, and lists that hold one value each."""
        others = [name for name, kind in self.kinds.items() if kind == "other"][:_MOST_OTHERS]
        for name in others:
            inner = _inner(self.features[name])
            if _is_float(self.features[name]) and all(map(_all_whole, self._slices(name, self._count))):
                self.kinds[name] = "whole number"
            elif inner is not None and all(map(_all_alone, self._slices(name, self._count))):
                kind = _kind("", inner)
                self.kinds[name] = kind if kind in LABEL_KINDS else "other"

    def _cells(self, column: str) -> Iterator[Any]:
        """Yield the cells of a label column as Arrow arrays, the value of a list in its place."""
        for part in self._slices(column, self._count):
            yield part if _inner(self.features[column]) is None else _alone(part)

    def _read_codes(self, column: str) -> LabelCodes:
        feature = self.features[column]
        if self.kinds[column] == "class":
            names = tuple(map(composed, (_inner(feature) or feature).names or ()))
            parts = [np.asarray(part.fill_null(-1).to_numpy(), np.int64) for part in self._cells(column)]
            numbers = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
            return LabelCodes(values=np.where((numbers >= 0) & (numbers < len(names)), numbers, -1), names=names)
        number_of: dict[Any, int] = {}
        codes, named = [], 0
        for part in self._cells(column):
            encoded = part.combine_chunks().dictionary_encode()
            named += encoded.dictionary.nbytes
            if named > _MOST_NAMED:
                return LabelCodes.given_up(self._count, "its values are too long to be class names")
            distinct = [_clean(value) for value in encoded.dictionary.to_pylist()]
            local = [-1 if value is None else number_of.setdefault(value, len(number_of)) for value in distinct]
            if len(number_of) > MOST_NAMES:
                return LabelCodes.given_up(self._count, f"it has more than {MOST_NAMES:,} values")
            codes.append(np.array([*local, -1], dtype=np.int64)[encoded.indices.fill_null(len(local)).to_numpy()])
        return _sorted(number_of, np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64))

    def _bytes(self, cell: Any) -> bytes | None:
        if isinstance(cell, (bytes, bytearray)):
            return bytes(cell)
        if not isinstance(cell, dict):
            return None
        if cell.get("bytes"):
            return bytes(cell["bytes"])
        # A downloaded table may name any path of this machine, so only the dataset's own folders are read.
        name = cell.get("path")
        return read_below(Path(name), self._roots) if name and "://" not in name else None


def encode(values: Sequence[Any]) -> LabelCodes:
    """Give plain values codes in sorted order (numbers by size, text by letter); None and blank text become -1."""
    number_of: dict[Any, int] = {}
    cleaned = (_clean(value) for value in values)
    codes = (-1 if value is None else number_of.setdefault(value, len(number_of)) for value in cleaned)
    return _sorted(number_of, np.fromiter(codes, dtype=np.int64, count=len(values)))


def _sorted(number_of: dict[Any, int], codes: np.ndarray) -> LabelCodes:
    """Renumber codes in order of their values, given codes in order of appearance."""
    ordered = sorted(number_of, key=lambda value: (isinstance(value, str), value))
    moved = np.full(len(number_of) + 1, -1, dtype=np.int64)
    for index, value in enumerate(ordered):
        moved[number_of[value]] = index
    return LabelCodes(values=moved[codes], names=tuple(_name(value) for value in ordered))


def _lengths(cells: Any) -> np.ndarray:
    """Return the bytes of image cells int64 [n]; a cell that holds a path, or nothing, counts 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_struct(cells.type) and cells.type.get_field_index("bytes") >= 0:
        cells = pc.struct_field(cells, "bytes")
    if not any(check(cells.type) for check in (pa.types.is_binary, pa.types.is_large_binary)):
        return np.zeros(len(cells), dtype=np.int64)
    return np.asarray(pc.binary_length(cells).fill_null(0).to_numpy(), dtype=np.int64)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return composed(value.strip()) or None
    if isinstance(value, float):
        return int(value) if value == value and abs(value) != math.inf else None
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
        return "image" if name.lower() in IMAGE_NAMES else "other"
    if feature.dtype in ("string", "large_string"):
        return "text"
    if feature.dtype == "bool":
        return "true or false"
    return "whole number" if feature.dtype.startswith(("int", "uint")) else "other"


def _is_float(feature: Any) -> bool:
    return str(getattr(feature, "dtype", "")).startswith(("float", "double"))


def _inner(feature: Any) -> Any:
    """Return the feature of the items of a list; None: it is none."""
    import datasets

    if isinstance(feature, list):
        return feature[0] if len(feature) == 1 else None
    if isinstance(feature, (datasets.List, datasets.LargeList)):
        return feature.feature
    return None


def _all_whole(cells: Any) -> bool:
    import pyarrow.compute as pc

    given = pc.drop_null(cells)
    given = given.filter(pc.is_finite(given))
    return len(given) == 0 or bool(pc.all(pc.equal(given, pc.floor(given))).as_py())


def _all_alone(cells: Any) -> bool:
    import pyarrow.compute as pc

    most = pc.max(pc.list_value_length(cells)).as_py()
    return most is None or most <= 1


def _alone(cells: Any) -> Any:
    """Return the first value of each list, null where there is none."""
    import pyarrow as pa

    values = [cell[0] if cell else None for cell in cells.to_pylist()]
    return pa.chunked_array([pa.array(values, cells.type.value_type)])


def _unread(feature: Any) -> str:
    """Say why a column of the kind "other" is none of labels."""
    if _is_float(feature):
        return "its values are numbers with a point"
    if isinstance(feature, dict):
        return "its values are objects"
    if _inner(feature) is not None or "Array" in type(feature).__name__:
        return "its values are lists"
    dtype = str(getattr(feature, "dtype", type(feature).__name__))
    return "its values are bytes" if "binary" in dtype else f"its values are of the kind {dtype}"
