"""Image files of more than 8 bits a channel, written byte by byte where Pillow writes none."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def deep_png(values: np.ndarray) -> bytes:
    """A PNG of 16 bits a channel.

    Args:
        values: whole numbers ``[H, W]`` grey, or ``[H, W, 2 to 4]``: grey with alpha, colour, colour with alpha.
    """

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, *channels = values.shape
    colour = {(): 0, (2,): 4, (3,): 2, (4,): 6}[tuple(channels)]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


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
