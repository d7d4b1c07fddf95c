"""Files that take long to read are refused before they are; ordinary ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.data import bombs
from tests.data.world import encode
from trainers.data.image_file import BROWSER_FORMATS, UndecodableError, check_upload

NOISE = np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("name", bombs.BOMBS)
def test_what_takes_long_to_read_is_refused(name: str) -> None:
    data, words = bombs.BOMBS[name]
    with pytest.raises(UndecodableError, match=words):
        check_upload(data)


@pytest.mark.parametrize("kind", BROWSER_FORMATS)
def test_ordinary_files_are_taken(kind: str) -> None:
    check_upload(encode(NOISE, kind))


def test_ordinary_remarks_are_taken() -> None:
    exif = Image.Exif()
    exif[0x010E] = "x" * 60_000
    frames = [Image.fromarray(NOISE // (number + 1)) for number in range(12)]
    for kind, options in {
        "JPEG": {"exif": exif, "icc_profile": bytes(400_000), "progressive": True, "comment": b"x" * 900},
        "PNG": {"exif": exif, "icc_profile": bytes(400_000), "save_all": True, "append_images": frames},
        "GIF": {"comment": b"x" * 900, "save_all": True, "append_images": frames},
        "WEBP": {"exif": exif, "save_all": True, "append_images": frames},
    }.items():
        check_upload(encode(NOISE, kind, **options))
    for data in (bombs.profiles(2), bombs.chunks(50), bombs.commented(50), bombs.marked(50), bombs.runs(10_000)):
        check_upload(data)


@pytest.mark.parametrize("start", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF89a", b"BM"])
def test_broken_files_are_refused_with_a_sentence(start: bytes) -> None:
    draws = np.random.default_rng(1)
    for length in (0, 1, 5, 40, 4000):
        with pytest.raises(UndecodableError):
            check_upload(start + draws.bytes(length))
