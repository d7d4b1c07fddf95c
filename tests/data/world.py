"""Small image sets written to disk by the tests, and image files written byte by byte where Pillow writes none."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from PIL import Image

Files = dict[str, bytes]


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

    return png((width, height, depth, colour), bytes(1000))


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(header: tuple[int, int, int, int], rows: bytes) -> bytes:
    """A PNG file of a width, a height, the bits of a channel and a type of colour, with these bytes of rows."""
    start = png_chunk(b"IHDR", struct.pack(">IIBBBBB", *header, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")


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


def images(*folders: str, first: int = 0, count: int = 3) -> Files:
    """So many different pictures in each folder; the empty name is no folder."""
    return {
        f"{folder}/{n}.png".lstrip("/"): picture(first + count * at + n)
        for at, folder in enumerate(folders)
        for n in range(count)
    }


def zipped(files: Files, **options: Any) -> bytes:
    """A zip file of them."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def tarred(files: Files) -> bytes:
    """A tar file of them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return data.getvalue()


def written(folder: Path, files: Files) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def deep_png(values: np.ndarray) -> bytes:
    """A PNG of 16 bits a channel.

    Args:
        values: whole numbers ``[H, W]`` grey, or ``[H, W, 2 to 4]``: grey with alpha, colour, colour with alpha.
    """

    height, width, *channels = values.shape
    colour = {(): 0, (2,): 4, (3,): 2, (4,): 6}[tuple(channels)]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    return png((width, height, 16, colour), rows)


def deep_tiff(values: np.ndarray, order: str) -> bytes:
    """An unpacked TIFF of 16 bits a channel, grey ``[H, W]`` or colour ``[H, W, 3]``; ``order``: ``<`` or ``>``."""
    height, width = values.shape[:2]
    channels, data = values.size // (height * width), values.astype(f"{order}u2").tobytes()
    behind = 8 + 2 + 12 * 9 + 4  # the header, the nine tags and what ends them
    depths = struct.pack(f"{order}{channels}H", *[16] * channels) if channels > 1 else b""
    short, long = 3, 4
    tags = [
        (256, long, 1, width),
        (257, long, 1, height),
        (258, short, channels, behind if depths else 16),
        (259, short, 1, 1),
        (262, short, 1, 2 if depths else 1),
        (273, long, 1, behind + len(depths)),
        (277, short, 1, channels),
        (278, long, 1, height),
        (279, long, 1, len(data)),
    ]
    written = b"".join(
        struct.pack(f"{order}HHI", tag, kind, count)
        + (struct.pack(f"{order}HH", value, 0) if kind == short and count == 1 else struct.pack(f"{order}I", value))
        for tag, kind, count, value in tags
    )
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}IH", 8, len(tags))
    return head + written + bytes(4) + depths + data


def saved(values: np.ndarray, form: str = "TIFF") -> bytes:
    """A file as Pillow writes it: TIFF of int32 or float32, PNG or PPM of uint16."""
    out = io.BytesIO()
    Image.fromarray(values).save(out, form)
    return out.getvalue()


def ramp(top: float, side: int = 16) -> np.ndarray:
    """Values from 0 to ``top``, float64 ``[side, side]``: the left half is 0, the right half rises downwards."""
    values = np.zeros((side, side))
    values[:, side // 2 :] = np.linspace(0, top, side)[:, None]
    return values


def write_wide(folder: Path, tops: list[float], classes: int = 4) -> None:
    """Class folders of 16-bit PNGs, one for each top value."""
    for number in range(classes):
        (folder / f"c{number}").mkdir(parents=True)
        for index, top in enumerate(tops):
            (folder / f"c{number}" / f"{index}.png").write_bytes(deep_png(ramp(top)))
