"""The Python that runs an exported ONNX file without this program, as its card shows it."""

from __future__ import annotations

import json

from trainers.data.picture import LONGEST

_CROPPED = """    image = Image.open(path)
    image.draft(None, ({draft}, {draft}))  # a JPEG file is unpacked no larger than it is needed
    (w, h), e = image.size, min(image.size)
    middle = ((w - e) / 2, (h - e) / 2, (w + e) / 2, (h + e) / 2)
    small = image.convert("{mode}").resize(({side}, {side}), Image.Resampling.BICUBIC, middle, reducing_gap=3.0)
"""
_SQUASHED = """    image = Image.open(path)
    size = [max(1, round(edge * min(1, {longest} / max(image.size)))) for edge in image.size]
    image.draft(None, ({longest}, {longest}))  # a JPEG file is unpacked no larger than it is needed
    small = image.convert("{mode}")
    small = small if size == list(small.size) else small.resize(size, Image.Resampling.BICUBIC)
    small = ImageOps.exif_transpose(small).resize(({side}, {side}), Image.Resampling.BICUBIC)
"""


def onnx_loader(file: str, *, channels: int, side: int, whole: bool) -> str:
    """Write the code that loads an ONNX file, embeds images, and reads them from files as the images of a run are read.

    Args:
        channels, side: of the square images that it takes; side in pixels.
        whole: they are squeezed into the square; False: their middle is cut out.
    """
    pixels = (_SQUASHED if whole else _CROPPED).format(
        draft=side * 3 // 2, side=side, longest=LONGEST, mode="RGB" if channels == 3 else "L"
    )
    upright = "small" if whole else "ImageOps.exif_transpose(small)"
    axes = ".transpose(2, 0, 1)[None]" if channels == 3 else "[None, None]"
    return f'''import numpy as np
import onnxruntime
from PIL import Image, ImageOps

session = onnxruntime.InferenceSession({json.dumps(file)})


def embed(images):
    """Return a row of length 1 for each image, float32 [N, {channels}, {side}, {side}] in 0..1."""
    return session.run(None, {{"images": images}})[0]


def read(path):
    """Return the image of a file as embed() takes it, float32 [1, {channels}, {side}, {side}]."""
{pixels}    return np.asarray({upright}, np.float32){axes} / 255
'''
