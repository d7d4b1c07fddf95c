"""Bytes of an image file to the pixels that an encoder would have seen in training."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trainers.data.decode import square
from trainers.data.image_file import ACCEPTED, LARGEST_FILE, UndecodableError
from trainers.data.pixel_range import PixelRange
from trainers.errors import DataError

_LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601, as Pillow


def decode_query(data: bytes, *, channels: int, side: int, pixels: PixelRange | None = None) -> Tensor:
    """Decode an image upright, 8-bit, without alpha, its centre square resized, as the images of a run are.

    Of an animation the first frame counts. A grey image is repeated over three channels; of a colour image that an
    encoder of grey images is to see, the luminance is taken.

    Args:
        data: the content of an image file.
        channels: that the encoder takes, 1 or 3.
        side: of the square images, pixels.
        pixels: the values that are black and white in images of more than 8 bits, as the run has them; None: as this
            image has them.

    Returns:
        uint8 ``[1, C, side, side]``.

    Raises:
        DataError: this is no image that can be used; says why.
    """
    if not data:
        raise DataError(f"The query is empty. Give a {ACCEPTED} file.")
    if len(data) > LARGEST_FILE:
        raise DataError(f"The query has more than {LARGEST_FILE / 1e6:,.0f} MB. Shrink the image first.")
    try:
        decoded = torch.tensor(square(data, side, pixels))
    except UndecodableError as error:
        text = str(error)
        raise DataError(text if text.endswith(".") else f"The query cannot be decoded ({text}).") from error
    return with_channels(decoded[None], channels)


def with_channels(images: Tensor, channels: int) -> Tensor:
    """Convert images uint8 ``[N, 1 or 3, H, W]`` to grey or to colour, as an encoder takes them."""
    if images.shape[1] == channels:
        return images
    if channels == 3:
        return images.expand(-1, 3, -1, -1)
    grey = np.tensordot(images.numpy(), np.array(_LUMA, np.float32), axes=(1, 0))
    return torch.from_numpy(np.rint(grey).astype(np.uint8))[:, None]
