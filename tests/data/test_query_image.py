"""Any image file as a query: turned, animated, transparent, wide, too large, or no image."""

from __future__ import annotations

import io

import pytest
import torch
from PIL import Image

from trainers.data.decode import decode_query, square, with_channels
from trainers.data.image_file import LARGEST_FILE
from trainers.errors import DataError

RED = (200, 10, 10)


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def half_red(mode: str = "RGB") -> Image.Image:
    """Red above, blue below."""
    image = Image.new("RGB", (40, 40), (10, 10, 200))
    image.paste(RED, (0, 0, 40, 20))
    return image.convert(mode)


def test_an_image_is_read_as_in_training() -> None:
    data = encoded(half_red(), "PNG")
    assert torch.equal(decode_query(data, channels=3, side=16)[0], torch.from_numpy(square(data, 16)))


def test_the_first_frame_of_an_animation_counts() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in (RED, (0, 255, 0))]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode_query(data, channels=3, side=8)[0, :, 4, 4].tolist() == pytest.approx(RED, abs=4)


def test_grey_and_colour_are_turned_into_each_other() -> None:
    colour = torch.tensor(RED, dtype=torch.uint8).reshape(1, 3, 1, 1).expand(2, 3, 4, 4)
    grey = with_channels(colour, 1)
    assert grey.shape == (2, 1, 4, 4) and grey.unique().tolist() == [
        Image.new("RGB", (1, 1), RED).convert("L").getpixel((0, 0))
    ]
    assert with_channels(grey, 3).shape == (2, 3, 4, 4) and with_channels(colour, 3) is colour


@pytest.mark.parametrize(
    "data", [b"", b"no image", b"%PDF-1.4", bytes(LARGEST_FILE + 1)], ids=["empty", "text", "pdf", "huge"]
)
def test_what_is_no_image_is_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^[A-Z].*\.$"):
        decode_query(data, channels=3, side=16)
    whole = encoded(half_red(), "PNG")
    with pytest.raises(DataError, match=r"^[A-Z].*\.$"):
        decode_query(whole[: len(whole) // 2], channels=3, side=16)
