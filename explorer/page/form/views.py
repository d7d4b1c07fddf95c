"""Augmented views of some images, as an encoder would see them, as data addresses."""

from __future__ import annotations

import base64
import io
import secrets

from PIL import Image
from torch import Tensor

from explorer.page.form.fields import Json
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.views import preview
from trainers.kinds.data_titles import source_title
from trainers.training.augmentations import AUGMENTATIONS

PREVIEWED = 6
"""Images of a preview."""
LARGEST_TILE = 160  # pixels sent of a larger view; it is shown at about 60
_STEPS = 1_000_000  # a preview is of any one of so many, so that pressing again shows other views


def views(config: ContrastiveConfig) -> Json:
    """Make two views of some of the chosen images, and a sentence about them.

    Raises:
        UserError: the images cannot be read, or a parameter is wrong.
    """
    made = preview(config, PREVIEWED, step=secrets.randbelow(_STEPS))
    title, side = AUGMENTATIONS[config.augmentation.name].title, made.shape[-1]
    said = f"{title} on {source_title(config.data.source)}, {side} pixels: two views of each image."
    return {"views": [[_address(view) for view in image] for image in made], "said": said}


def _address(view: Tensor) -> str:
    """Encode one view float ``[C, S, S]`` as a data address."""
    pixels = (view * 255).round().byte().expand(3, -1, -1).permute(1, 2, 0).numpy()
    picture, buffer = Image.fromarray(pixels), io.BytesIO()
    picture.thumbnail((LARGEST_TILE, LARGEST_TILE))
    picture.save(buffer, "WEBP", quality=90)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
