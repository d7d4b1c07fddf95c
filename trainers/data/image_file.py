"""Opens image files: of listed formats, measured by their headers before they are unpacked.

A few kilobytes can claim to be terapixels, and what an image takes while it is unpacked is not what it takes
afterwards. So its bytes are reckoned from the header first, those of its decoder included, and all images that are
being unpacked in this process share one budget: a large one waits until it has the budget nearly to itself.
"""

from __future__ import annotations

import io
import re
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from trainers.data.names import on_disk
from trainers.errors import DataError

FORMATS: dict[str, tuple[str, ...]] = {
    "JPEG": (".jpg", ".jpeg", ".jfif"),
    "PNG": (".png",),
    "WEBP": (".webp",),
    "GIF": (".gif",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm"),
    "JPEG2000": (".jp2",),
    "AVIF": (".avif",),
}
"""Pillow's names of the formats that are opened, and their suffixes. Formats that run programs (EPS) and formats
of documents are not among them."""
SUFFIXES = tuple(suffix for suffixes in FORMATS.values() for suffix in suffixes)
ACCEPTED = "JPEG, PNG, WebP, GIF, BMP, TIFF, PPM, JPEG 2000 or AVIF"
BUDGET = 512_000_000
"""Bytes that all images being unpacked in this process may take together; one that needs more is refused."""
LARGEST_FILE = 100_000_000
"""Bytes of an image file that is read at all."""
LONGEST_SIDE = 16_384
"""Pixels of a side: what an image takes besides its pixels grows with its sides, and a row may have one pixel."""
LOW_BYTES = "low bytes"
"""Name, in ``info`` of an unpacked colour image of 16 bits a channel, of the image of its lower bytes: Pillow has modes
for the upper ones alone."""
MOST_SCANS = 32
"""Scans of a file that is unpacked: encoders write 1 to 15. Each goes over all coefficients, and one that refines
nothing takes a few bytes."""
_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])")  # not a byte of the data that happens to be 255, nor a restart
_END, _SCAN = 0xD9, 0xDA
_ALONE = (0x01, 0xD8)  # markers without a segment
_SMALL = 1_000_000  # below this an image does not wait: handing out the budget would take longer than its pixels
_SIXTEEN = ("I;16", "I;16L", "I;16B", "I;16N")
_POINTER = 8  # bytes that Pillow keeps for each row, wherever it lies
_STORED = {"1": 1, "L": 1, "P": 1, **dict.fromkeys(_SIXTEEN, 2)}  # bytes of a pixel; all other modes take 4
_COPIES = {
    "1": 1, "P": 8, "PA": 8, "F": 10, **dict.fromkeys((*_SIXTEEN, "LA", "La", "RGBA", "RGBa"), 4)
}  # while they change  # fmt: skip
_DEEP = 18  # copies of a colour image of 16 bits a channel, its lower bytes included
_DECODERS = {"WEBP": 12, "JPEG2000": 16, "AVIF": 8}  # bytes a pixel that their decoders hold besides, measured


class UndecodableError(DataError):
    """Bytes that are no image that can be used; says why in a sentence."""


def read_below(path: Path, roots: Iterable[Path]) -> bytes | None:
    """Read an image file; None where it is missing, too large, or outside all ``roots`` (resolved folders)."""
    try:
        path = on_disk(path).resolve()
        inside = any(root in path.parents for root in roots)
        return path.read_bytes() if inside and path.is_file() and path.stat().st_size <= LARGEST_FILE else None
    except (OSError, ValueError):  # a name with a zero byte is no file's
        return None


class ByteBudget:
    """Bytes that are lent to one holder or several at a time, in the order in which they asked.

    Attributes:
        waiting: a ticket of each that waits or is about to be lent its bytes, first come first.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._used = 0
        self.waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def hold(self, count: int) -> Iterator[None]:
        """Wait for ``count`` bytes (at most ``total``) and keep them inside the block."""
        turn = object()
        with self._changed:
            self.waiting.append(turn)
            try:
                self._changed.wait_for(lambda: self.waiting[0] is turn and self._used + count <= self.total)
                self._used += count
            finally:
                self.waiting.remove(turn)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._used -= count
                self._changed.notify_all()


_BUDGET = ByteBudget(BUDGET)


def open_header(data: bytes) -> Image.Image:
    """Open an image: its format, size and mode are known and its pixels are still packed.

    Raises:
        UndecodableError: no image of an accepted format, one without pixels, with too long a side or too many scans.
    """
    try:
        image = Image.open(io.BytesIO(data), formats=tuple(FORMATS))
    except Image.DecompressionBombError as error:
        raise UndecodableError("This image has more pixels than can be unpacked here. Shrink it first.") from error
    except Exception as error:  # broken files make Pillow raise OSError, SyntaxError, struct.error, ...
        raise UndecodableError(f"This file is not an image that can be read. Give a {ACCEPTED} file.") from error
    if not (image.width and image.height):
        raise UndecodableError(f"This image has {image.width} x {image.height} pixels; choose another one.")
    if max(image.size) > LONGEST_SIDE:
        raise UndecodableError(
            f"This image has {image.width:,} x {image.height:,} pixels; a side may have {LONGEST_SIDE:,}. Shrink it."
        )
    if image.format in ("JPEG", "MPO") and not _in_one_scan(image) and scans(data) > MOST_SCANS:
        raise UndecodableError(f"This JPEG has more than {MOST_SCANS} scans. Save it again with an ordinary program.")
    return image


def scans(data: bytes) -> int:
    """Count the scans of the first JPEG in ``data`` by its markers (ITU-T T.81, annex B), up to one more than
    :data:`MOST_SCANS`.

    Previews inside the file's remarks, and what follows the image, do not count.
    """
    count, offset = 0, 2
    while count <= MOST_SCANS and (marker := _MARKER.search(data, offset)):
        code, offset = marker[1][0], marker.end()
        if code == _END:
            break
        count += code == _SCAN
        if code not in _ALONE:
            offset += int.from_bytes(data[offset : offset + 2], "big")
    return count


@contextmanager
def unpacked(image: Image.Image, side: int | None = None) -> Iterator[None]:
    """Unpack the pixels of the first frame; inside the block its bytes are taken from the budget.

    Args:
        side: each side of the result is wanted with at least so many pixels; JPEG files are then unpacked at a half, a
            quarter or an eighth of their size.

    Raises:
        UndecodableError: too many bytes, damaged or cut short.
    """
    width, height = image.size
    if side is not None and image.format in ("JPEG", "MPO"):
        image.draft(None, (side, side))  # the decoder skips frequencies that the resize would throw away
    needed = unpacked_bytes(image, width * height)
    if needed > BUDGET:
        raise UndecodableError(
            f"This image of {width:,} x {height:,} pixels ({image.format}, {image.mode}) takes "
            f"{needed / 1e6:,.0f} MB to unpack, above {BUDGET / 1e6:,.0f} MB. Shrink it first."
        )
    if needed < _SMALL:
        _load(image)
        yield
        return
    with _BUDGET.hold(needed):
        _load(image)
        yield


def unpacked_bytes(image: Image.Image, pixels: int) -> int:
    """Return the bytes at the peak of unpacking: pixels x channels x depth as they are stored, the decoder's own, and
    copies.

    Args:
        image: opened, not unpacked; a draft may have made it smaller.
        pixels: of the file.
    """
    line = -(-image.width * _STORED.get(image.mode, 4) // 4) * 4  # rows begin at multiples of four bytes
    stored = image.height * (line + _POINTER)
    keyed = 8 if "transparency" in image.info else 0
    deep = _DEEP if is_deep(image) else 0
    copies = image.width * image.height * max(_COPIES.get(image.mode, 0), keyed, deep)
    return stored + copies + _decoder_bytes(image, pixels, stored)


def _decoder_bytes(image: Any, pixels: int, stored: int) -> int:
    if image.format in ("JPEG", "MPO"):
        return _coefficients(image, pixels)
    if image.format == "TIFF":
        # A strip may be the whole image, a tile may be larger than the image; a turned image is stored twice.
        tags = image.tag_v2
        bits = sum(int(depth) for depth in tags.get(258, (1,))) or 1
        tile = int(tags.get(322, 0)) * int(tags.get(323, 0))
        return stored + (max(pixels, tile) * max(bits, 8 * _STORED.get(image.mode, 4)) + 7) // 8
    return pixels * _DECODERS.get(str(image.format), 0)


def _coefficients(image: Any, pixels: int) -> int:
    """Return the bytes of a JPEG's coefficients: a file of several scans is held whole, whatever size is asked for."""
    if _in_one_scan(image):
        return 0
    layers = image.layer
    widest = max(across for _, across, _, _ in layers) * max(down for _, _, down, _ in layers)
    return 2 * pixels * sum(across * down for _, across, down, _ in layers) // max(1, widest)


def _in_one_scan(image: Any) -> bool:
    """Return whether a JPEG's first scan has all bits of all its channels, so that the decoder reads no other."""
    data = image.fp.getbuffer() if isinstance(image.fp, io.BytesIO) else b""
    scan = image.fp.tell() - 8 - 2 * len(image.layer)  # where the marker of a scan of all channels stands
    return bytes(data[scan : scan + 2]) == b"\xff\xda" and not image.info.get("progressive")


def is_deep(image: Any) -> bool:
    """Return whether a colour image, opened and not unpacked, has 16 bits a channel."""
    return image.mode in ("RGB", "RGBA") and any(";16" in _raw_mode(tile) for tile in getattr(image, "tile", ()))


def _raw_mode(tile: Any) -> str:
    """Return how the bytes of a part of a file are laid out, as Pillow names it."""
    return str(tile[3][0] if isinstance(tile[3], tuple) and tile[3] else tile[3])


def _load(image: Any) -> None:
    low = _low_bytes(image) if is_deep(image) else None
    try:
        image.load()
    except Exception as error:
        raise UndecodableError(f"This image is damaged or cut short and cannot be unpacked ({error}).") from error
    if low is not None:
        image.info[LOW_BYTES] = low


def _low_bytes(image: Any) -> Image.Image | None:
    """Unpack the lower bytes of a colour image of 16 bits a channel; None: it is stored in a way that has none.

    The bytes of each value are read in the other order, so that the lower one is taken for the upper one.
    """
    try:
        low: Any = Image.open(io.BytesIO(image.fp.getbuffer()), formats=(image.format,))
        grey = any(_raw_mode(tile).startswith("LA") for tile in low.tile)
        low.tile = [(*tile[:3], _swapped(tile[3])) for tile in low.tile]
        low.load()
        if grey:  # its four bytes are read as four channels: grey, its lower byte, alpha, its lower byte
            low = Image.merge("RGBA", [low.getchannel(band) for band in "GGGA"])
    except Exception:  # what is wrong with the file itself is said when it is unpacked
        return None
    return low if low.size == image.size else None


def _swapped(layout: Any) -> Any:
    if isinstance(layout, tuple):
        return _swapped(layout[0]), *layout[1:]
    mode, _, order = layout.partition(";16")
    if mode == "LA":
        return "RGBA"
    return f"{mode};16{'B' if order == 'L' or (order == 'N' and sys.byteorder == 'little') else 'L'}"


BROWSER_FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "AVIF")
"""Formats that browsers show. TIFF, PPM and JPEG 2000 can be made to take minutes, or gigabytes."""
PARTS = 65_536
"""Parts of a file: chunks, markers, blocks."""
PACKED = 64
"""Packed remarks and colour profiles of a PNG file; each may hold a megabyte."""
REMARKS = 256 * 1024
"""Bytes of a GIF file's extensions up to the second frame."""
RUN_LENGTH = 4_000_000
"""Bytes of a BMP file whose pixels are run-length encoded: Pillow decodes it in Python."""
_FILLED = re.compile(rb"\xff{4096}")
_PIXELS = re.compile(rb"\xff[\xda\xd9]")  # or the end
_PACKED = (b"iCCP", b"zTXt", b"iTXt")
_ODD = "This {} file has more {} than images have. Save it again with an ordinary program."


def check_upload(data: bytes) -> None:
    """Refuse what would take long to read.

    Raises:
        UndecodableError: no image of :data:`BROWSER_FORMATS`, or one with too much around its pixels.
    """
    for start, check in _CHECKS.items():
        if data.startswith(start):
            check(data)
    with open_header(data) as image:
        if image.format not in BROWSER_FORMATS:
            raise UndecodableError(f"{image.format} files are not taken here. Send a JPEG, PNG, WebP or AVIF file.")
        if image.format == "BMP" and image.info.get("compression") in (1, 2) and len(data) > RUN_LENGTH:
            raise UndecodableError(f"A packed BMP file may have {RUN_LENGTH / 1e6:g} MB here. Send it as PNG.")


def _png(data: bytes) -> None:
    offset, count, packed = 8, 0, 0
    while offset + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, offset)
        count, packed, offset = count + 1, packed + (kind in _PACKED), offset + length + 12
        if count > PARTS or packed > PACKED:
            raise UndecodableError(_ODD.format("PNG", "chunks"))


def _jpeg(data: bytes) -> None:
    if _FILLED.search(data):
        raise UndecodableError(_ODD.format("JPEG", "filling"))
    offset, count = 2, 0
    while offset + 4 <= len(data) and not _PIXELS.match(data, offset):
        count += 1
        if count > PARTS // 16:
            raise UndecodableError(_ODD.format("JPEG", "markers"))
        # Pillow looks for the next marker byte by byte, so what is none counts as one
        offset += 2 + int.from_bytes(data[offset + 2 : offset + 4], "big") if data[offset] == 255 else 1


def _gif(data: bytes) -> None:
    offset, frames, remarks, count = 13 + _colours(data, 10), 0, 0, 0
    while offset < len(data) and frames < 2 and data[offset] in b"!,":
        extension = data[offset] == 0x21
        frames += not extension
        begin = offset
        offset += 2 if extension else 11 + _colours(data, offset + 9)
        while offset < len(data) and data[offset]:
            offset += data[offset] + 1
            count += 1
        offset += 1
        count, remarks = count + 1, remarks + (offset - begin if extension else 0)
        if remarks > REMARKS or count > 4 * PARTS:
            raise UndecodableError(_ODD.format("GIF", "remarks"))


def _colours(data: bytes, offset: int) -> int:
    """Return the bytes of the table of colours that the flags at ``offset`` tell of."""
    flags = data[offset] if offset < len(data) else 0
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


_CHECKS: dict[bytes, Callable[[bytes], None]] = {b"\x89PNG": _png, b"\xff\xd8": _jpeg, b"GIF8": _gif}
