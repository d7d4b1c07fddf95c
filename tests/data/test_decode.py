"""Every kind of image file becomes upright 8-bit squares, or is refused."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.data.world import claimed, encode
from trainers.data.decode import header, square
from trainers.data.image_file import UndecodableError

GREY = np.full((20, 20), 100, np.uint8)
COLOUR = np.full((20, 20, 3), (250, 100, 10), np.uint8)


@pytest.mark.parametrize("mode", ["1", "L", "LA"])
def test_grey_files_have_one_channel(mode):
    pixels = square(encode(GREY, mode=mode), 8)
    assert pixels.shape == (1, 8, 8) and pixels.dtype == np.uint8
    assert header(encode(GREY, mode=mode)) == (20, 20, True)


@pytest.mark.parametrize(
    ("format", "mode"), [("PNG", "RGB"), ("PNG", "P"), ("PNG", "RGBA"), ("GIF", "P"), ("WEBP", "RGB"), ("BMP", "RGB")]
)
def test_colour_files_have_three(format, mode):
    pixels = square(encode(COLOUR, format, mode, **({"lossless": True} if format == "WEBP" else {})), 8)
    assert pixels.shape == (3, 8, 8)
    assert np.abs(pixels[:, 4, 4].astype(int) - (250, 100, 10)).max() <= 30  # GIF has a coarse palette


@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_jpeg_keeps_the_colour(mode):
    pixels = square(encode(np.repeat(np.repeat(COLOUR, 20, 0), 20, 1), "JPEG", mode, quality=95), 16)
    assert np.abs(pixels[:, 8, 8].astype(int) - (250, 100, 10)).max() <= 12


def test_sixteen_bits_are_scaled():
    deep = np.full((9, 9), 32896, np.uint16)
    assert (square(encode(deep), 3) == 128).all()
    assert (square(encode(np.full((9, 9), 0.5, np.float32), "TIFF"), 3) == 128).all()


def test_transparency_is_laid_on_white():
    clear = np.zeros((9, 9, 4), np.uint8)
    assert (square(encode(clear), 3) == 255).all()
    palette = Image.fromarray(GREY).convert("P")
    palette.info["transparency"] = 100
    assert square(encode(np.asarray(palette)), 3).shape == (1, 3, 3)


def test_the_orientation_mark_is_applied():
    upright = np.zeros((30, 30, 3), np.uint8)
    upright[:10] = 255  # white above
    exif = Image.Exif()
    exif[0x0112] = 8  # stored lying: to be turned by 90 degrees counter-clockwise
    lying = encode(np.rot90(upright, -1).copy(), "JPEG", exif=exif.tobytes())
    pixels = square(lying, 6)
    assert pixels[:, 0].min() > 200 and pixels[:, -1].max() < 50


def test_the_centre_is_cut_out():
    wide = np.zeros((10, 30), np.uint8)
    wide[:, 10:20] = 255
    pixels = square(encode(wide), 5)[0]
    assert (pixels[:, 1:-1] == 255).all() and pixels.min() > 200


def test_shrinking_averages():
    checks = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    pixels = square(encode(checks), 8)
    assert np.abs(pixels.astype(int) - 127).max() < 25


@pytest.mark.parametrize(
    "data",
    [b"", b"text", encode(COLOUR)[:60], encode(np.repeat(np.repeat(COLOUR, 9, 0), 9, 1), "JPEG")[:400]],
    ids=["empty", "text", "cut png", "cut jpeg"],
)
def test_what_is_no_picture_is_refused(data):
    with pytest.raises(UndecodableError):
        square(data, 8)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(("side", "colour"), [(30_000, 0), (12_000, 2), (9_000, 6)])
def test_a_bomb_is_refused_by_its_header(side, colour):
    with pytest.raises(UndecodableError, match="Shrink it first"):
        square(claimed(side, side, colour), 8)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_broken_remarks_do_not_cost_the_photo():
    broken = b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + bytes(range(40))
    assert square(encode(COLOUR, "JPEG", exif=broken), 8).shape == (3, 8, 8)
