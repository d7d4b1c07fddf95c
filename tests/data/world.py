"""Small image sets written to disk by the tests."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from PIL import Image


def encode(pixels: np.ndarray, format: str = "PNG", mode: str | None = None, **options: Any) -> bytes:
    """An image file as bytes."""
    picture = Image.fromarray(pixels)
    buffer = io.BytesIO()
    (picture if mode is None else picture.convert(mode)).save(buffer, format, **options)
    return buffer.getvalue()


def picture(value: int, side: int = 16, *, grey: bool = False) -> bytes:
    """A flat PNG whose shade tells which one it is; blue is always 200 in colour."""
    if grey:
        return encode(np.full((side, side), value % 256, np.uint8))
    return encode(np.stack([np.full((side, side), v, np.uint8) for v in (value % 256, value // 256, 200)], axis=-1))


def claimed(width: int, height: int, colour: int = 2, depth: int = 8) -> bytes:
    """A PNG of a few bytes that says it is large.

    Args:
        colour: PNG's colour type: 0 grey, 2 RGB, 4 grey with alpha, 6 RGB with alpha.
        depth: bits of a channel.
    """

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def write_split(
    folder: Path,
    split: str,
    columns: dict[str, Sequence[Any]],
    types: dict[str, Any] | None = None,
    *,
    image: str = "image",
    images: Sequence[bytes | None] | None = None,
) -> None:
    """One parquet file ``<split>-00000-of-00001`` with an image column before the others.

    Args:
        types: ``datasets`` features by column; strings and whole numbers are found out.
        images: file bytes; default: flat pictures numbered from 0.
    """
    count = len(next(iter(columns.values())))
    images = [picture(index) for index in range(count)] if images is None else images
    features = {image: datasets.Image()}
    for name, values in columns.items():
        kind = {bool: "bool", int: "int64", str: "string"}[type(next(v for v in values if v is not None))]
        features[name] = (types or {}).get(name, datasets.Value(kind))
    rows = {image: [None if data is None else {"bytes": data, "path": None} for data in images], **columns}
    (folder / "data").mkdir(parents=True, exist_ok=True)
    table = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
    table.to_parquet(str(folder / "data" / f"{split}-00000-of-00001.parquet"))


def write_tree(folder: Path, names: Sequence[str], count: int = 3, suffix: str = ".png") -> None:
    """``count`` pictures in each of the named sub-folders."""
    for place, name in enumerate(names):
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        for index in range(count):
            (target / f"{index}{suffix}").write_bytes(picture(place * count + index))
