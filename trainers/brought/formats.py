"""What files hold: arrays by name, or the columns of a table. Nothing in a file is run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trainers.brought.text_tables import read_text_table
from trainers.errors import DataError

ARRAYS = (".npy", ".npz", ".safetensors", ".pt", ".pth", ".h5", ".hdf5")
"""Endings of files of arrays: names in them are no columns that are counted."""
ALONE = "array"
"""Name of an array whose file gives it none."""
_BINARY = {".fbin": "<f4", ".ibin": "<i4", ".u8bin": "u1", ".i8bin": "i1"}
_VECS = {".fvecs": "<f4", ".ivecs": "<i4", ".bvecs": "u1"}
_KEYED = re.compile(r"[\d./]")
OBJECTS = "is an array of objects, which is a pickle and may run anything, so it is not read"


class Unread(str):
    """Why something in a file is not read."""


def read_columns(path: Path, count: int | None = None) -> dict[str, Any]:
    """Return what a file holds by name: arrays, columns of Arrow, lists, or :class:`Unread`.

    Args:
        count: rows that are expected, which tells whether the first line of a table without embeddings is one.
    """
    ending = path.suffix.lower()
    return read_text_table(path, count) if ending in TEXTS else READERS[ending](path)


def _npy(path: Path) -> dict[str, Any]:
    try:
        return _fields(ALONE, np.load(path, mmap_mode="r", allow_pickle=False))
    except ValueError as error:
        if "allow_pickle" not in str(error) and "Python objects" not in str(error):
            raise
        raise DataError(f"{path.name} {OBJECTS}. {_WAY_OUT}") from error


_WAY_OUT = "Save numbers with np.stack and a float dtype, and text with np.array(..., dtype=str)."


def _fields(name: str, array: np.ndarray) -> dict[str, Any]:
    """Return an array by its name, or the fields of a structured one."""
    return {name: array} if array.dtype.names is None else {field: array[field] for field in array.dtype.names}


def _npz(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as archive:
        for name in archive.files:
            try:
                found |= _fields(name, archive[name])
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                found[name] = Unread(f"{OBJECTS}. {_WAY_OUT}")
    return _by_key(found)


def _safetensors(path: Path) -> dict[str, Any]:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:  # numpy knows no bfloat16 and no float8
        return _by_key({name: _array(file.get_tensor(name)) for name in file.keys()})  # noqa: SIM118


def _torch(path: Path) -> dict[str, Any]:
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        if "weights_only" not in str(error).lower() and "weights only" not in str(error).lower():
            raise
        raise DataError(
            f"{path.name} holds more than tensors, or is damaged, and nothing of a file is run here. Save tensors, "
            "lists and texts alone: torch.save({'embeddings': ..., 'labels': [...]}, path)."
        ) from error
    if isinstance(found, (list, tuple)) and found and all(isinstance(one, torch.Tensor) for one in found):
        found = {f"{ALONE} {at}": one for at, one in enumerate(found)}
    if not isinstance(found, Mapping):
        found = {ALONE: found}
    return _by_key({str(name): _array(value) for name, value in found.items()})


def _array(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, list) else Unread("is neither a tensor nor a list")
    value = value.detach()
    known = value.dtype in (torch.float16, torch.float32, torch.float64) or not value.is_floating_point()
    return (value if known else value.float()).numpy()


def _by_key(found: dict[str, Any]) -> dict[str, Any]:
    """Return vectors that are kept one by one, by file or number, as an array with its ids; else what was found."""
    vectors = [one for one in found.values() if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
    shapes = {one.reshape(-1).shape if one.ndim < 3 else () for one in vectors}
    keyed = len(vectors) == len(found) >= 3 and len(shapes) == 1 and min(shapes) > (1,)
    if not keyed or not all(map(_KEYED.search, found)) or any(one.ndim == 2 and len(one) > 1 for one in vectors):
        return found
    return {"embeddings": np.stack([one.reshape(-1) for one in vectors]), "id": list(found)}


def _hdf5(path: Path) -> dict[str, Any]:
    try:
        import h5py
    except ImportError as error:
        raise DataError(f"{path.name} needs the package h5py: pip install h5py.") from error
    found: dict[str, Any] = {}

    def keep(name: str, value: Any) -> None:
        if isinstance(value, h5py.Dataset) and value.ndim:
            text = h5py.check_string_dtype(value.dtype) is not None
            found.update(_fields(name, value.asstr()[:] if text else value[:]))

    with h5py.File(path, "r") as file:
        file.visititems(keep)
    leaves = {name.rpartition("/")[2] for name in found}
    if len(found) > 2 and len(leaves) == 1 and "" not in {name.rpartition("/")[0] for name in found}:
        found = {name.rpartition("/")[0]: value for name, value in found.items()}  # a group an image
    return _by_key(found)


def _counted_rows(path: Path) -> dict[str, Any]:
    """Read a file that begins with how many rows of how many numbers follow."""
    kind = np.dtype(_BINARY[path.suffix.lower()])
    if path.stat().st_size < 8:
        raise DataError(f"{path.name} is empty.")
    rows, width = (int(one) for one in np.fromfile(path, "<u4", 2))
    if path.stat().st_size != 8 + rows * width * kind.itemsize:
        raise DataError(f"{path.name} begins with {rows:,} rows of {width:,} numbers, and its size is another.")
    return {ALONE: np.memmap(path, kind, "r", 8, (rows, width))}


def _counted_numbers(path: Path) -> dict[str, Any]:
    """Read a file in which every row begins with how many numbers follow."""
    kind, size = np.dtype(_VECS[path.suffix.lower()]), path.stat().st_size
    if size < 4:
        raise DataError(f"{path.name} is empty.")
    width = int(np.fromfile(path, "<i4", 1)[0])
    long = 4 + width * kind.itemsize
    if not 0 < width < 2**20 or size % long:
        raise DataError(f"{path.name} begins with a row of {width:,} numbers, and its size is not that of such rows.")
    rows = np.memmap(path, np.dtype([("width", "<i4"), ("row", kind, (width,))]), "r")
    if (rows["width"] != width).any():
        raise DataError(f"Every row of {path.name} needs as many numbers as the first, {width:,}; others have others.")
    return {ALONE: rows["row"]}


def _parquet(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as parquet

    return _arrow(parquet.read_table(path, memory_map=True))


def _feather(path: Path) -> dict[str, Any]:
    from pyarrow import feather

    return _arrow(feather.read_table(path, memory_map=True))


def _ipc(path: Path) -> dict[str, Any]:
    import pyarrow as arrow

    with arrow.memory_map(str(path)) as source:
        try:
            return _arrow(arrow.ipc.open_file(source).read_all())
        except arrow.ArrowInvalid:
            return _arrow(arrow.ipc.open_stream(source).read_all())


def _lines_of_json(path: Path) -> dict[str, Any]:
    from pyarrow import json as arrow_json

    options = arrow_json.ReadOptions(block_size=2**26)
    return _arrow(arrow_json.read_json(path, read_options=options))


def _arrow(table: Any) -> dict[str, Any]:
    """Return the columns of a table of Arrow; classes that ``datasets`` numbered by their names."""
    import pyarrow as arrow

    classes = _class_names(table.schema.metadata or {})
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        if name in classes and arrow.types.is_integer(column.type):
            names = classes[name]
            column = [names[code] if 0 <= code < len(names) else None for code in column.fill_null(-1).to_pylist()]
        elif isinstance(column.type, arrow.BaseExtensionType):
            column = arrow.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        columns[name] = column
    return columns


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
        return {
            name: [str(one) for one in feature["names"]]
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


READERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".pt": _torch,
    ".pth": _torch,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _ipc,
    ".jsonl": _lines_of_json,
    **dict.fromkeys(_BINARY, _counted_rows),
    **dict.fromkeys(_VECS, _counted_numbers),
}
"""What reads a file that is no table of text, by its ending."""
TEXTS = (".csv", ".tsv", ".txt")
"""Endings of tables of text."""
ENDINGS = tuple(dict.fromkeys((".npy", ".npz", ".parquet", *TEXTS, *READERS)))
"""Endings of all files that are read."""
