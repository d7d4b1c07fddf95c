"""Image files that are quickly sent and slowly read."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image

from tests.data.world import claimed, encode, png_chunk

SMALL = np.full((64, 64), 128, np.uint8)


def repeated(side: int, times: int) -> bytes:
    """A flat progressive JPEG whose last scan comes so many times more."""
    whole = encode(np.full((side, side), 128, np.uint8), "JPEG", progressive=True)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    return whole[:-2] + last * times + whole[-2:]


def profiles(times: int) -> bytes:
    """A PNG file with a packed colour profile of a megabyte so many times."""
    whole, one = encode(SMALL), png_chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(1_000_000), 9))
    return whole[:33] + one * times + whole[33:]


def chunks(times: int) -> bytes:
    """A PNG file with so many empty chunks."""
    whole = encode(SMALL)
    return whole[:33] + png_chunk(b"abCd", b"") * times + whole[33:]


def commented(times: int, after_the_first_frame: bool = False) -> bytes:
    """A GIF file of two frames with so many comments of a letter."""
    out = io.BytesIO()
    frames = [Image.fromarray(SMALL), Image.fromarray(255 - SMALL)]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=100)
    whole = out.getvalue()
    place = (whole.rindex if after_the_first_frame else whole.index)(b"!\xf9")
    return whole[:place] + b"!\xfe\x01x\0" * times + whole[place:]


def marked(times: int) -> bytes:
    """A JPEG file with so many empty segments."""
    whole = encode(SMALL, "JPEG")
    return whole[:2] + b"\xff\xee\x00\x02" * times + whole[2:]


def filled(count: int) -> bytes:
    """A JPEG file with so many bytes before a marker that say nothing."""
    whole = encode(SMALL, "JPEG")
    return whole[:2] + b"\xff" * count + whole[2:]


def runs(count: int) -> bytes:
    """A run-length encoded BMP file of so many runs of one pixel."""
    side = round(count**0.5)
    body = (b"\1\5" * side + b"\0\0") * side
    head = struct.pack("<IiiHHIIiiII", 40, side, side, 1, 8, 1, len(body), 0, 0, 256, 0)
    return b"BM" + struct.pack("<IHHI", 54 + 1024 + len(body), 0, 0, 54 + 1024) + head + bytes(1024) + body


BOMBS: dict[str, tuple[bytes, str]] = {
    "scans": (repeated(64, 60), "more than 32 scans"),
    "a narrow PNG": (claimed(1, 100_000_000, 0), "a side may have 16,384"),
    "a wide PNG": (claimed(100_000_000, 1, 0), "a side may have 16,384"),
    "profiles": (profiles(100), "more chunks"),
    "chunks": (chunks(70_000), "more chunks"),
    "comments": (commented(60_000), "more remarks"),
    "comments after a frame": (commented(60_000, True), "more remarks"),
    "segments": (marked(5_000), "more markers"),
    "filling": (filled(100_000), "more filling"),
    "runs of one pixel": (runs(2_200_000), "packed BMP"),
    "TIFF": (encode(SMALL, "TIFF"), "TIFF files are not taken here"),
    "JPEG 2000": (encode(SMALL, "JPEG2000"), "JPEG2000 files are not taken here"),
}
"""By name: a file, and words of the sentence that refuses it."""
