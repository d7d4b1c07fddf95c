"""Embeddings, labels and images as people keep them in files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trainers.brought.writer import MOST_IMAGES, WIDEST, checked
from trainers.errors import DataError, UserError
from trainers.parameters import meant

LARGEST = 2**34
"""Most bytes of a file."""
NAMES = ("embeddings", "embedding", "features", "feature", "vectors", "vector", "emb", "x")
"""Names of what holds the embeddings, the first that is there."""
PICTURES = ("image", "images", "path", "paths", "file", "files", "filename", "file_name", "image_path")
"""Names of columns that hold images or their paths."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a file holds.

    Attributes:
        embeddings: float32 ``[N, D]``, unit rows.
        columns: other columns by name, N values each.
    """

    embeddings: np.ndarray
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def labels(self, names: Sequence[str]) -> dict[str, Sequence[Any]]:
        """Return the columns of these names.

        Raises:
            DataError: there is none of a name.
        """
        for name in names:
            if name not in self.columns:
                known = f"it has {', '.join(self.columns)}" if self.columns else "it has none"
                raise DataError(f"There is no column {name!r:.60}; {known}.{meant(name, self.columns)}")
        return {name: self.columns[name] for name in names}

    @property
    def pictures(self) -> str:
        """Name of the column of images or their paths; empty: there is none."""
        return next((name for name in self.columns if name.lower() in PICTURES), "")


def read(path: Path, column: str = "") -> Table:
    """Read ``.npy``, ``.npz``, ``.parquet``, ``.csv`` or ``.safetensors``; nothing in it is run.

    Args:
        column: what holds the embeddings; empty: one of :data:`NAMES`, else the only one that can.

    Raises:
        UserError: what was needed, and what it holds.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"A file that ends in {', '.join(READERS)} was needed; got {path.name!r:.80}.")
    try:
        if not path.is_file():
            raise DataError(f"There is no file {path}.")
        if (size := path.stat().st_size) > LARGEST:
            raise DataError(f"A file of at most {LARGEST:,} bytes was needed; {path.name} has {size:,}.")
        return _table(path.name, reader(path), column)
    except UserError:
        raise
    except Exception as error:  # libraries raise anything about damaged files
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path.name} cannot be read: {why:.200}") from error


def _table(name: str, found: Mapping[str, Any], column: str) -> Table:
    chosen = _chosen(name, found, column)
    embeddings = checked(_stacked(found[chosen]))
    count = len(embeddings)
    if not 3 <= count <= MOST_IMAGES:
        raise DataError(f"Embeddings of 3 to {MOST_IMAGES:,} images were needed; {name} has {count:,}.")
    others = {key: values for key, values in found.items() if key != chosen and _rows(values) == count}
    return Table(embeddings=embeddings, columns=others)


def _chosen(name: str, found: Mapping[str, Any], column: str) -> str:
    """Return the name of what holds the embeddings."""
    if column:
        if column not in found:
            raise DataError(f"There is no column {column!r:.60} in {name}.{meant(column, found)}")
        return column
    if len(found) == 1:
        return next(iter(found))
    lower = {key.lower(): key for key in found}
    for known in NAMES:
        if known in lower and _is_wide(found[lower[known]]):
            return lower[known]
    wide = [key for key, values in found.items() if _is_wide(values)]
    if len(wide) != 1:
        holds = ", ".join(list(found)[:12]) or "nothing"
        raise DataError(
            f"A column of embeddings, such as `embeddings`, was needed; {name} has {holds}. Name it with --column."
        )
    return wide[0]


def _is_wide(values: Any) -> bool:
    """Return whether a column holds several numbers a row."""
    if isinstance(values, np.ndarray):
        return values.ndim == 2 and values.dtype.kind in "fiu"
    return bool(len(values)) and isinstance(values[0], (list, np.ndarray)) and len(values[0]) > 1


def _stacked(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values
    widths = {len(row) if row is not None else 0 for row in values}
    if len(widths) != 1:
        raise DataError(f"Every embedding needs as many numbers; got {min(widths)} to {max(widths)}.")
    return np.asarray(list(values), dtype=np.float32)


def _rows(values: Any) -> int:
    return len(values) if getattr(values, "ndim", 1) == 1 else -1


def _npy(path: Path) -> dict[str, Any]:
    return {NAMES[0]: np.load(path, allow_pickle=False)}


def _npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _safetensors(path: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return dict(load_file(path))


def _parquet(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as parquet

    table = parquet.read_table(path, memory_map=False)
    return {name: _column(table.column(name)) for name in table.column_names}


def _column(column: Any) -> Any:
    import pyarrow as arrow

    flat = column.combine_chunks()
    kind = flat.type
    if arrow.types.is_fixed_size_list(kind) or arrow.types.is_list(kind) or arrow.types.is_large_list(kind):
        widths = flat.value_lengths() if not arrow.types.is_fixed_size_list(kind) else None
        if widths is None or (len(widths) and widths.null_count == 0 and len(widths.unique()) == 1):
            values = flat.flatten().to_numpy(zero_copy_only=False)
            return values.reshape(len(flat), -1) if values.dtype.kind in "fiu" else flat.to_pylist()
    return flat.to_pylist()


def _csv(path: Path) -> dict[str, Any]:
    """Read a table: columns of numbers that share a beginning and are counted (``e0``, ``e1``) are the embeddings."""
    csv.field_size_limit(2**24)
    with path.open(encoding="utf-8-sig", newline="") as file:
        sample = file.read(2**16)
        file.seek(0)
        delimiter = max(",;\t", key=sample.partition("\n")[0].count)
        rows = list(csv.reader(file, delimiter=delimiter))
    if not rows:
        raise DataError(f"{path.name} is empty.")
    head, body = rows[0], [row for row in rows[1:] if row]
    if bad := next((at for at, row in enumerate(body, start=2) if len(row) != len(head)), 0):
        raise DataError(f"Line {bad} of {path.name} has another number of cells than the first one, {len(head)}.")
    columns: dict[str, Any] = {name: [row[at] for row in body] for at, name in enumerate(head)}
    text = next((name for name in head if name.lower() in NAMES), None)
    if text is not None:  # the numbers stand in one cell
        cells = [cell.strip("[]() ").replace(",", " ").split() for cell in columns[text]]
        return columns | {text: [np.array(cell, np.float32) for cell in cells]}
    counted = [name for name in head if name.rstrip("0123456789") != name]
    beginnings = {name.rstrip("0123456789") for name in counted}
    best = max(beginnings, key=lambda word: sum(name.rstrip("0123456789") == word for name in counted), default=None)
    wide = [name for name in counted if name.rstrip("0123456789") == best]
    if len(wide) > 1:
        if len(wide) > WIDEST:
            raise DataError(f"Embeddings of at most {WIDEST:,} numbers were needed; {path.name} has {len(wide):,}.")
        buffer = io.StringIO("\n".join(" ".join(columns[name][at] for name in wide) for at in range(len(body))))
        embeddings = np.loadtxt(buffer, dtype=np.float32, ndmin=2)
        return {NAMES[0]: embeddings} | {name: values for name, values in columns.items() if name not in wide}
    return dict(columns)


READERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".parquet": _parquet,
    ".csv": _csv,
    ".safetensors": _safetensors,
}
"""What reads a file, by its ending."""
