"""The pixels of image files, hashed: of every format, mode and orientation mark, as each of the three readers has them.

Runs keep the fingerprints of their images, so that none of these may change. The formats are without loss, or JPEG.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

from tests.data.world import deep_png, deep_tiff, encode, saved
from trainers.data.decode import decode_query, square
from trainers.data.picture import read_picture

RAMP = np.add.outer(np.arange(40) * 5, np.arange(56) * 3)
COLOUR = np.stack([RAMP % 256, RAMP[::-1] % 251, (RAMP * 2) % 241], axis=-1).astype(np.uint8)
ALPHA = np.dstack([COLOUR, (RAMP % 256).astype(np.uint8)])
DEEP = (COLOUR.astype(np.uint16) * 200).astype(np.uint16)


def turned(mark: int) -> dict[str, Any]:
    exif = Image.Exif()
    exif[0x0112] = mark
    return {"exif": exif.tobytes()}


def printed() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


FILES = {
    **{kind: encode(COLOUR, kind) for kind in ("PNG", "BMP", "GIF", "TIFF", "PPM", "JPEG")},
    "WEBP": encode(COLOUR, "WEBP", lossless=True),
    "JPEG2000": encode(COLOUR, "JPEG2000", irreversible=False),
    "progressive": encode(COLOUR, "JPEG", progressive=True),
    **{f"PNG {mode}": encode(COLOUR, "PNG", mode) for mode in ("1", "L", "LA", "P")},
    "PNG RGBA": encode(ALPHA),
    "keyed PNG": encode(COLOUR, "PNG", transparency=tuple(COLOUR[3, 5].tolist())),
    "WEBP RGBA": encode(ALPHA, "WEBP", lossless=True),
    **{f"{kind} CMYK": encode(COLOUR, kind, "CMYK") for kind in ("TIFF", "JPEG")},
    "CMYK with a profile of another mode": encode(COLOUR, "JPEG", "CMYK", icc_profile=printed()),
    "int32 TIFF": saved((RAMP * 1000 - 5000).astype(np.int32)),
    "float TIFF": saved((RAMP / 7 - 3).astype(np.float32)),
    "16-bit PNG": deep_png(DEEP[..., 0]),
    "16-bit colour PNG": deep_png(DEEP),
    "16-bit colour TIFF": deep_tiff(DEEP, ">"),
    **{f"turned {mark}": encode(COLOUR, "JPEG", **turned(mark)) for mark in range(1, 9)},
    "turned TIFF": encode(COLOUR, "TIFF", **turned(6)),
    "large JPEG": encode(np.repeat(np.repeat(COLOUR, 16, 0), 16, 1), "JPEG"),
}
# fmt: off
HASHES = {
    "PNG": "f28e0901a152", "BMP": "f28e0901a152", "GIF": "fb62fd0aa623", "TIFF": "f28e0901a152",
    "PPM": "f28e0901a152", "JPEG": "90796d76cbb4", "WEBP": "f28e0901a152", "JPEG2000": "f28e0901a152",
    "progressive": "90796d76cbb4", "PNG 1": "1bcd422ab5da", "PNG L": "1f14c0694b29", "PNG LA": "14fae4e66351",
    "PNG P": "e393f2674f1b", "PNG RGBA": "fdde839c5565", "keyed PNG": "e8baaaa617a9", "WEBP RGBA": "fdde839c5565",
    "TIFF CMYK": "208fbb97a8d2", "JPEG CMYK": "1125b322862c", "CMYK with a profile of another mode": "314dbf0fc87e",
    "int32 TIFF": "d194214476a8", "float TIFF": "6d5d0343bc9d", "16-bit PNG": "0ad5cfc74c7d",
    "16-bit colour PNG": "697552ca865a", "16-bit colour TIFF": "697552ca865a", "turned 1": "90796d76cbb4",
    "turned 2": "611132fba8d2", "turned 3": "b0cd304bfc33", "turned 4": "145d6d6fa0c7", "turned 5": "0b56a7cbfe9e",
    "turned 6": "dff12d4bf343", "turned 7": "ec73d7ba86e4", "turned 8": "51d4ab425970", "turned TIFF": "d54c5cb394e9",
    "large JPEG": "108ca502da2d",
}
# fmt: on


def read(data: bytes) -> bytes:
    """Every pixel that the readers make of a file, with the shapes, scale and notes of a picture."""
    picture = read_picture(data)
    arrays = [square(data, 12), *(decode_query(data, channels=count, side=12).numpy() for count in (1, 3))]
    about = [array.shape for array in arrays], picture.scale, picture.width, picture.height, picture.notes
    return b"".join(array.tobytes() for array in (*arrays, picture.pixels)) + repr(about).encode()


@pytest.mark.parametrize("name", FILES)
def test_pixels_do_not_change(name: str) -> None:
    assert hashlib.sha256(read(FILES[name])).hexdigest()[:12] == HASHES[name]
