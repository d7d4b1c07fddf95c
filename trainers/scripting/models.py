"""An exported model in a program: from image files to embeddings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trainers.data.decode import decode_query
from trainers.data.picture import LONGEST, read_picture
from trainers.errors import DataError, UserError
from trainers.image_text.encoding import squash
from trainers.image_text.models import ImageTextModel
from trainers.retrieval.encoders import encoder_of_file
from trainers.training.embedding import ImageEncoder

_AT_ONCE = 256  # files that are decoded before they are embedded


def load_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Load a safetensors file that ``rankscope export`` wrote, onto a GPU if there is one.

    Raises:
        UserError: there is no such file, it was written by something else, or it names an encoder that is not known
            here.
    """
    return LoadedModel(encoder_of_file(Path(path)))


class LoadedModel:
    """One exported model, in evaluation mode.

    Attributes:
        channels, side: of the square images that it takes; side in pixels.
    """

    def __init__(self, encoder: ImageEncoder) -> None:
        self._encoder = encoder
        self.channels, self.side = encoder.channels, encoder.side

    def read(self, file: str | os.PathLike[str]) -> Tensor:
        """Read an image file as the images of the run were read: uint8 ``[channels, side, side]``.

        Raises:
            UserError: it cannot be read, or is no image.
        """
        encoder = self._encoder
        try:
            data = Path(file).read_bytes()
        except OSError as error:
            raise UserError(f"{os.fspath(file)} cannot be read: {error.strerror or error}.") from error
        try:
            if isinstance(encoder.network, ImageTextModel):
                return squash(read_picture(data, LONGEST).pixels, self.side)
            decoded = decode_query(data, channels=self.channels, side=self.side, pixels=encoder.pixel_range)
        except DataError as error:
            raise UserError(f"{os.fspath(file)} is not used: {error}") from error
        return decoded[0]

    def embed(self, images: Sequence[str | os.PathLike[str]] | Tensor) -> np.ndarray:
        """Embed images as the run did when it was scored.

        Args:
            images: paths of files; or as :meth:`read` gives them, uint8 ``[N, channels, side, side]``.

        Returns:
            float32 ``[N, D]``, rows of length 1.

        Raises:
            UserError: a file cannot be read or is no image, none is given, or the training diverged.
        """
        if isinstance(images, str | os.PathLike) or not len(images):
            raise UserError(f"A list of image files was needed, one at least; got {images!r:.60}.")
        if isinstance(images, Tensor):
            return self._encoder.embed(images).numpy()
        starts = range(0, len(images), _AT_ONCE)
        parts = (torch.stack([self.read(file) for file in images[start : start + _AT_ONCE]]) for start in starts)
        return np.concatenate([self._encoder.embed(part).numpy() for part in parts])
