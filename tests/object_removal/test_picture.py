"""Photos as people have them: large, turned, transparent, grey, animated, broken."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageCms

from tests.data.world import claimed
from trainers.data.picture import read_picture
from trainers.errors import DataError


def encode(picture: Image.Image, kind: str = "PNG", **options) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


def test_size_is_bounded_and_the_scale_is_kept():
    for kind in ("JPEG", "PNG"):
        picture = read_picture(encode(Image.new("RGB", (2000, 1000), "teal"), kind))
        assert (
            picture.pixels.shape == (256, 512, 3)
            and picture.scale == 0.256
            and (picture.width, picture.height) == (2000, 1000)
        )
    small = read_picture(encode(Image.new("RGB", (100, 60))))
    assert small.pixels.shape == (60, 100, 3) and small.scale == 1 and not small.notes


@pytest.mark.parametrize(("width", "height", "colour"), [(9000, 8000, 6), (13_000, 10_000, 2), (30_000, 30_000, 2)])
def test_huge_pictures_are_refused_by_their_header(width, height, colour):
    with pytest.raises(DataError, match="Shrink it first"):
        read_picture(claimed(width, height, colour))


def test_orientation_is_applied_first():
    exif = Image.Exif()
    exif[0x0112] = 6
    for longest in (512, 50):
        picture = read_picture(encode(Image.new("RGB", (40, 100)), "JPEG", exif=exif), longest)
        assert (picture.width, picture.height) == (100, 40) and picture.pixels.shape[1] > picture.pixels.shape[0]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparency_is_laid_on_white(mode):
    picture = Image.new("RGBA", (20, 20), (255, 0, 0, 0))
    data = encode(picture.convert("LA") if mode == "LA" else picture if mode == "RGBA" else palette())
    found = read_picture(data)
    assert (found.pixels == 255).all() and "white" in found.notes[0]


def palette() -> Image.Image:
    picture = Image.new("P", (20, 20), 0)
    picture.putpalette([255, 0, 0] + [0] * 765)
    picture.info["transparency"] = 0
    return picture


def test_print_colours():
    picture = read_picture(encode(Image.new("CMYK", (20, 20), (0, 255, 255, 0)), "TIFF"))
    assert tuple(picture.pixels[0, 0]) == (255, 0, 0) and "CMYK" in picture.notes[0]


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
@pytest.mark.parametrize("profile", ["garbage", "of RGB"])
def test_a_broken_profile_drops_the_profile_not_the_photo(kind, profile):
    data = b"no profile" if profile == "garbage" else ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    print_ = Image.new("CMYK", (20, 20), (0, 255, 255, 0))
    picture = read_picture(encode(print_, kind, icc_profile=data))
    assert tuple(picture.pixels[5, 5] // 250) == (1, 0, 0) and "colour profile is damaged" in picture.notes[0]


def test_a_turned_tiff_is_turned_once():
    tall = Image.new("RGB", (100, 40), "red")
    tall.paste("blue", (50, 0, 100, 40))
    picture = read_picture(encode(tall, "TIFF", tiffinfo={274: 6}))
    assert (picture.width, picture.height, picture.scale) == (40, 100, 1.0) and picture.pixels.shape == (100, 40, 3)
    assert tuple(picture.pixels[10, 20]) == (255, 0, 0) and tuple(picture.pixels[90, 20]) == (0, 0, 255)


def test_wide_grey_values_are_scaled():
    sixteen = read_picture(encode(Image.fromarray(np.full((20, 20), 40_000, np.uint16))))
    assert abs(int(sixteen.pixels[0, 0, 0]) - 156) <= 1
    floats = read_picture(encode(Image.fromarray(np.full((20, 20), 0.5, np.float32)), "TIFF"))
    assert abs(int(floats.pixels[0, 0, 0]) - 128) <= 1
    grey = read_picture(encode(Image.new("L", (20, 20), 70), "JPEG"))
    assert grey.pixels.shape == (20, 20, 3) and (grey.pixels == 70).all()


def test_the_first_frame_is_used():
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    for kind in ("GIF", "PNG", "WEBP"):
        options = {"lossless": True} if kind == "WEBP" else {}
        picture = read_picture(encode(frames[0], kind, save_all=True, append_images=frames[1:], **options))
        assert tuple(picture.pixels[5, 5]) == (255, 0, 0) and "only the first" in picture.notes[0]


def test_damaged_files_are_named_so():
    noise = np.random.default_rng(0).integers(0, 255, (80, 80, 3), np.uint8)
    for kind in ("JPEG", "PNG"):
        data = encode(Image.fromarray(noise), kind)
        with pytest.raises(DataError, match="damaged or cut short"):
            read_picture(data[: len(data) // 2])
    for data in (b"", b"not a picture", b"<svg/>"):
        with pytest.raises(DataError, match="not an image"):
            read_picture(data)


@pytest.mark.parametrize("size", [(1, 1), (15, 400)])
def test_tiny_sides(size):
    with pytest.raises(DataError, match="at least 16"):
        read_picture(encode(Image.new("RGB", size)))


def test_extreme_shapes():
    assert read_picture(encode(Image.new("RGB", (4000, 20)))).pixels.shape == (3, 512, 3)
