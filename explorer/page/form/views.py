"""Images as data addresses, and augmented views of some."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image
from torch import Tensor

from explorer.page.form.fields import Json

LARGEST_TILE = 160  # pixels sent of a larger view; it is shown at about 60


def drawn_views(views: Tensor, said: str) -> Json:
    """Describe views float ``[N, V, C, S, S]`` in 0..1, and a sentence about them, for the page."""
    return {"views": [[_address(view) for view in image] for image in views], "said": said}


def _address(view: Tensor) -> str:
    """Encode one view float ``[C, S, S]`` as a data address."""
    return address((view * 255).round().byte().numpy())


def address(pixels: np.ndarray) -> str:
    """Encode an image uint8 ``[C, S, S]``, grey or in colour, as a data address."""
    picture, buffer = Image.fromarray(np.broadcast_to(pixels, (3, *pixels.shape[1:])).transpose(1, 2, 0)), io.BytesIO()
    picture.thumbnail((LARGEST_TILE, LARGEST_TILE))
    picture.save(buffer, "WEBP", quality=90)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
