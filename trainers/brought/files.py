"""Embeddings, labels and images as people keep them in files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trainers.brought.formats import ALONE, ARRAYS, ENDINGS, Unread, read_columns
from trainers.brought.text_tables import NUMBER
from trainers.brought.writer import MOST_IMAGES, WIDEST, checked
from trainers.errors import DataError, UserError
from trainers.parameters import meant

LARGEST = 2**36
"""Most bytes of a file."""
NAMES = ("embeddings", "embedding", "features", "feature", "vectors", "vector", "emb", "x")
"""Names of what holds the embeddings, the first that is there and holds several numbers a row."""
PICTURES = (
    "image", "images", "path", "paths", "file", "files", "filename", "file_name", "filepath", "file_path", "image_path",
    "img_path",
)  # fmt: skip
"""Names of columns that hold images or their paths."""
_COUNTED = re.compile(r"(.*?)(\d+)")
_WRAPPED = re.compile(r"^\s*(?:np\.|numpy\.|torch\.)?(?:array|tensor)\(|,\s*(?:dtype|device)\s*=.*$", re.DOTALL)


class NoEmbeddingsError(DataError):
    """A file can be read, and holds nothing that can be embeddings."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a file holds.

    Attributes:
        name: of the file.
        embeddings: float32 ``[N, D]``, unit rows.
        column: what holds them.
        columns: other columns by name, N values each.
        passed: what is not read, and why, by name.
    """

    name: str
    embeddings: np.ndarray
    column: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)


def read(path: Path, column: str = "") -> Table:
    """Read embeddings and what stands beside them; nothing in the file is run.

    Args:
        path: ends in one of :data:`trainers.brought.formats.ENDINGS`.
        column: what holds the embeddings; empty: one of :data:`NAMES`, else the only one that can.

    Raises:
        NoEmbeddingsError: nothing in it can be embeddings.
        UserError: what was needed, and what it holds.
    """
    found = columns_of(path)
    with _told(path):
        chosen, embeddings, used = _embeddings(path, found, column)
        rows = checked(embeddings)
        count = len(rows)
        if not 3 <= count <= MOST_IMAGES:
            raise DataError(f"Embeddings of 3 to {MOST_IMAGES:,} images were needed; {path.name} has {count:,}.")
        others = {name: values for name, values in found.items() if name not in used}
        columns, passed = _beside(others, count)
        return Table(name=path.name, embeddings=rows, column=chosen, columns=columns, passed=passed)


def read_beside(path: Path, count: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Read a table that stands beside embeddings of so many images, of whatever number of rows.

    Returns:
        its columns by name, and what is not read, and why.

    Raises:
        UserError: it cannot be read.
    """
    found = columns_of(path, count)
    with _told(path):
        if list(found) == [ALONE]:
            found = {"label": found[ALONE]}
        rows = max(map(_length, found.values()), default=0)
        columns, passed = _beside(found, rows)
        for name, why in passed.items():
            if isinstance(why, Unread):
                raise DataError(f"{name!r:.60} in {path.name} {why}")
        return columns, passed


def columns_of(path: Path, count: int | None = None) -> dict[str, Any]:
    """Return what a file holds, see :func:`trainers.brought.formats.read_columns`.

    Raises:
        UserError: there is none, it is too large, or it cannot be read.
    """
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"A file that ends in {', '.join(ENDINGS)} was needed; got {path.name!r:.80}.")
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    if (size := path.stat().st_size) > LARGEST:
        raise DataError(f"A file of at most {LARGEST:,} bytes was needed; {path.name} has {size:,}.")
    with _told(path):
        return read_columns(path, count)


class _told:  # noqa: N801
    """Says in a sentence what libraries raise about a file, which may be anything."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, UserError):
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"{self._path.name} cannot be read: {why:.200}") from error


def _beside(found: Mapping[str, Any], count: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Divide what is no embedding into columns of so many rows and what is passed over."""
    columns: dict[str, Any] = {}
    passed: dict[str, str] = {}
    for name, values in found.items():
        if isinstance(values, Unread):
            passed[name] = values
        elif getattr(values, "ndim", 1) == 0 or len(values) != count:
            passed[name] = f"has {_length(values):,} rows"
        elif name.lower() in PICTURES and getattr(values, "ndim", 1) in (3, 4):
            columns[name] = values
        elif isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
            columns[name] = values[:, 0]
        elif isinstance(values, np.ndarray) and values.ndim > 1 and (codes := _one_hot(values)) is None:
            passed[name] = f"has {' x '.join(map(str, values.shape[1:]))} numbers a row"
        elif isinstance(values, np.ndarray) and values.ndim > 1:
            columns[name] = codes
        else:
            columns[name] = values
    return columns, passed


def _length(values: Any) -> int:
    return 0 if isinstance(values, Unread) else 1 if getattr(values, "ndim", 1) == 0 else len(values)


def _one_hot(values: np.ndarray) -> np.ndarray | None:
    """Return the classes of rows with a single 1 among zeros; None: they have others."""
    if values.ndim != 2 or values.dtype.kind not in "fiub" or len(values) > MOST_IMAGES:
        return None
    ones = values == 1
    if not ((ones | (values == 0)).all() and (ones.sum(1) == 1).all()):
        return None
    return ones.argmax(1)


def _embeddings(path: Path, found: Mapping[str, Any], column: str) -> tuple[str, Any, set[str]]:
    """Return the name of what holds the embeddings, these, and the columns that they are read from."""
    families = {} if path.suffix.lower() in ARRAYS else _families(found)
    if column and column not in found and column not in families:
        raise DataError(f"There is no column {column!r:.60} in {path.name}.{meant(column, [*found, *families])}")
    if column and column in found and (_is_wide(found[column]) or _family_of(column, families) is None):
        return column, _stacked(column, found[column]), {column}
    if column:
        return _joined(found, families[column if column in families else str(_family_of(column, families))])
    if len(found) == 1:
        (name,) = found
        values = found[name]
        if getattr(values, "ndim", 1) == 1 and not isinstance(values, Unread) and not _may_be_rows(values):
            what = (
                f"{values.dtype} {list(values.shape)}" if isinstance(values, np.ndarray) else f"a column {name!r:.60}"
            )
            raise NoEmbeddingsError(f"Embeddings need the shape [images, numbers]; {path.name} has {what}.")
        if isinstance(values, np.ndarray) and values.ndim == 2 and not column and _says_classes(values):
            raise NoEmbeddingsError(f"Several numbers a row were needed; {path.name} has one class a row.")
        return "" if name == ALONE else name, _stacked(name, found[name]), {name}
    lower = {key.lower(): key for key in reversed(list(found))}
    for known in NAMES:
        if known in lower and _is_wide(found[lower[known]]):
            return lower[known], _stacked(lower[known], found[lower[known]]), {lower[known]}
    if refused := next((key for key in NAMES if isinstance(found.get(lower.get(key, "")), Unread)), None):
        raise DataError(f"{lower[refused]!r} in {path.name} {found[lower[refused]]}")
    wide = [key for key, values in found.items() if _is_wide(values) and not _is_one_hot(key, values)]
    if not wide and families:
        return _joined(found, max(families.values(), key=len))
    if len(wide) != 1:
        holds = ", ".join(list(found)[:12]) or "nothing"
        raise NoEmbeddingsError(
            f"A column of embeddings, such as `embeddings`, was needed; {path.name} has {holds}. Name it with --column."
        )
    return wide[0], _stacked(wide[0], found[wide[0]]), {wide[0]}


def _says_classes(values: np.ndarray) -> bool:
    return values.shape[1] == 1 or _one_hot(values) is not None


def _may_be_rows(values: Any) -> bool:
    return _is_wide(values) or (getattr(values, "dtype", None) is None and is_list(getattr(values, "type", None)))


def _is_one_hot(name: str, values: Any) -> bool:
    return "label" in name.lower() and isinstance(values, np.ndarray) and _one_hot(values) is not None


def _families(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return columns of numbers whose names share a beginning and are counted (``e0``, ``e1``), by that beginning."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name, values in found.items():
        met = _COUNTED.fullmatch(name)
        if met and _is_number(values):
            families.setdefault(met[1], []).append((int(met[2]), name))
    counted = {}
    for beginning, members in families.items():
        numbers = sorted(number for number, _ in members)
        if len(members) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            counted[beginning] = [name for _, name in sorted(members)]
    return counted


def _family_of(column: str, families: Mapping[str, list[str]]) -> str | None:
    return next((beginning for beginning, names in families.items() if column in names), None)


def _is_number(values: Any) -> bool:
    """Return whether a column holds a number a row, or texts of numbers."""
    import pyarrow as arrow

    if not isinstance(values, (arrow.ChunkedArray, arrow.Array)):
        return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu"
    if arrow.types.is_integer(values.type) or arrow.types.is_floating(values.type):
        return True
    some = [cell for cell in values.slice(0, 100).to_pylist() if cell] if is_text(values.type) else []
    return bool(some) and all(NUMBER.fullmatch(cell.replace(",", ".", 1)) for cell in some)


def _joined(found: Mapping[str, Any], names: list[str]) -> tuple[str, np.ndarray, set[str]]:
    """Return columns of numbers as one array."""
    if len(names) > WIDEST:
        raise DataError(f"Embeddings of at most {WIDEST:,} numbers were needed; got {len(names):,} columns.")
    rows = np.empty((len(found[names[0]]), len(names)), np.float32)
    for at, name in enumerate(names):
        rows[:, at] = _numbers(name, found[name])
    return f"{names[0]} to {names[-1]}", rows, set(names)


def _numbers(name: str, values: Any) -> np.ndarray:
    """Return a column of numbers, or of texts of numbers; an empty cell is NaN."""
    import pyarrow as arrow
    from pyarrow import compute

    if isinstance(values, np.ndarray):
        return values
    if is_text(values.type):
        values = compute.utf8_trim_whitespace(values)
        values = compute.if_else(compute.equal(values, ""), None, values)
        try:
            values = values.cast(arrow.float32())
        except arrow.ArrowInvalid:
            try:
                values = compute.replace_substring(values, ",", ".", max_replacements=1).cast(arrow.float32())
            except arrow.ArrowInvalid as error:
                cell = next(cell for cell in values.to_pylist() if cell and not NUMBER.fullmatch(cell))
                raise DataError(f"Numbers were needed in column {name!r:.60}; got {cell!r:.60}.") from error
    return np.asarray(values.to_numpy(), np.float32)


def _is_wide(values: Any) -> bool:
    """Return whether a column holds several numbers a row, or the text of several."""
    if isinstance(values, Unread):
        return False
    if isinstance(values, np.ndarray):
        return values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "fiu"
    kind = getattr(values, "type", None)
    if kind is not None:
        import pyarrow as arrow

        if is_list(kind):
            inner = kind.value_type
            numbers = arrow.types.is_floating(inner) or arrow.types.is_integer(inner)
            return numbers and any(cell is not None and len(cell) > 1 for cell in values.slice(0, 20).to_pylist())
        if not is_text(kind):
            return False
        first = next((cell for cell in values.slice(0, 20).to_pylist() if cell), "")
        parts = [] if NUMBER.fullmatch(first.replace(",", ".", 1)) else _parts(first)
        return len(parts) > 1 and all(NUMBER.fullmatch(part) or part == "..." for part in parts)
    return bool(len(values)) and isinstance(values[0], (list, np.ndarray)) and len(values[0]) > 1


def is_text(kind: Any) -> bool:
    """Return whether a type of Arrow is one of texts."""
    import pyarrow as arrow

    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


def is_list(kind: Any) -> bool:
    """Return whether a type of Arrow is one of lists."""
    import pyarrow as arrow

    if kind is None:
        return False
    kinds = (arrow.types.is_list, arrow.types.is_large_list, arrow.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def _parts(cell: str) -> list[str]:
    """Return the numbers in a text as Python, numpy, torch or JSON write an array."""
    return [part for part in re.split(r"[\s,;]+", _WRAPPED.sub("", cell).strip("[](){} \n\t")) if part]


def _stacked(name: str, values: Any) -> Any:
    """Return embeddings as an array; the rows of a column need as many numbers each."""
    if isinstance(values, Unread):
        raise DataError(f"{name!r:.60} {values}")
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values
    kind = getattr(values, "type", None)
    if kind is not None and is_list(kind):
        from pyarrow import compute

        flat = values.combine_chunks()
        widths = compute.value_counts(compute.list_value_length(flat).fill_null(0))
        _check_widths(name, {one["values"].as_py(): one["counts"].as_py() for one in widths})
        numbers = flat.flatten().to_numpy(zero_copy_only=False)
        return numbers.reshape(len(flat), -1) if len(flat) else numbers
    rows = values.to_pylist() if kind is not None else list(values)
    if any(isinstance(row, str) for row in rows):
        rows = [_parsed(name, row) for row in rows]
    counts: dict[int, int] = {}
    for row in rows:
        width = len(row) if hasattr(row, "__len__") else 0 if row is None else 1
        counts[width] = counts.get(width, 0) + 1
    _check_widths(name, counts)
    return np.asarray(rows, dtype=np.float32)


def _check_widths(name: str, counts: Mapping[int, int]) -> None:
    """Refuse rows of several lengths, or without numbers."""
    if empty := counts.get(0, 0):
        rows = sum(counts.values())
        raise DataError(f"Every row needs an embedding in {name!r:.60}; {empty:,} of {rows:,} have none.")
    if len(counts) > 1:
        raise DataError(f"Every embedding needs as many numbers; {name!r:.60} has {min(counts)} to {max(counts)}.")


def _parsed(name: str, cell: Any) -> np.ndarray:
    parts = _parts(cell or "")
    if "..." in parts:
        raise DataError(
            f"The numbers of {name!r:.60} are not in the file: it was written with numpy's '...' in place of most of "
            "them. Write a column a number, or lists: [row.tolist() for row in embeddings]."
        )
    try:
        return np.array(parts, np.float32)
    except ValueError as error:
        raise DataError(f"Numbers were needed in column {name!r:.60}; got {cell!r:.60}.") from error
