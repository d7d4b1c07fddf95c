"""Checks of an image file that a stranger sends, before it is unpacked: little to send may be much to read.

Pillow reads what stands around the pixels in Python: a profile that is given thousands of times is inflated as often,
a remark in thousands of parts is copied for each of them. What pixels take is bounded in
:mod:`trainers.data.image_file`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from trainers.data.image_file import UndecodableError, open_header

FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "AVIF")
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
_SCAN = re.compile(rb"\xff[\xda\xd9]")
_PACKED = (b"iCCP", b"zTXt", b"iTXt")
_ODD = "This {} file has more {} than images have. Save it again with an ordinary program."


def check_upload(data: bytes) -> None:
    """Refuse what would take long to read.

    Raises:
        UndecodableError: no image of :data:`FORMATS`, or one with too much around its pixels.
    """
    for start, check in _CHECKS.items():
        if data.startswith(start):
            check(data)
    with open_header(data) as image:
        if image.format not in FORMATS:
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
    while offset + 4 <= len(data) and not _SCAN.match(data, offset):
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
