"""The Python that loads an exported model without this program, as its card shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from trainers.data.picture import LONGEST
from trainers.publishing.code import Code, holding

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


@dataclass(frozen=True, kw_only=True)
class Takes:
    """The images that a model takes.

    Attributes:
        channels, side: of the square images; side in pixels.
        whole: they are squeezed into the square; False: their middle is cut out.
    """

    channels: int
    side: int
    whole: bool

    @property
    def shape(self) -> str:
        """Return the shape of a batch, in words."""
        return f"[N, {self.channels}, {self.side}, {self.side}]"

    def reader(self, last: str) -> str:
        """Write a function that reads a file as the images of a run are read.

        Args:
            last: the expression of the array, of the PIL image ``small``.
        """
        body = (_SQUASHED if self.whole else _CROPPED).format(
            draft=self.side * 3 // 2, side=self.side, longest=LONGEST, mode="RGB" if self.channels == 3 else "L"
        )
        turned = "small" if self.whole else "ImageOps.exif_transpose(small)"
        return (
            f'def read(path):\n    """Return the image of a file as embed() takes it, float '
            f'[1, {self.channels}, {self.side}, {self.side}]."""\n{body}    return {last.format(turned)}\n'
        )


def torch_loader(code: Code, takes: Takes, file: str) -> str:
    """Write the code that loads a safetensors file, embeds images and reads them from files."""
    mean, std = (list(values) for values in (code.mean, code.std))
    scaled = code.side is not None and code.side != takes.side
    expanded = "images" if len(mean) == takes.channels else f"images.expand(-1, {len(mean)}, -1, -1)"
    size = f'    x = nn.functional.interpolate(x, ({code.side}, {code.side}), mode="bicubic", antialias=True)\n'
    libraries = "".join(f"import {name}\n" for name in sorted({*code.needs, "torch"}))
    return f'''{libraries}from PIL import Image, ImageOps
from safetensors.torch import load_file
from torch import nn
from torchvision.transforms.functional import normalize, pil_to_tensor

net = {holding(code.parts)}
net.eval().load_state_dict(load_file({json.dumps(file)}))


@torch.inference_mode()
def embed(images):
    """Return a row of length 1 for each image, float {takes.shape} in 0..1."""
    x = normalize({expanded}, {mean}, {std})
{size if scaled else ""}    return nn.functional.normalize({code.call}, dim=1)


{takes.reader("pil_to_tensor({})[None] / 255")}'''


def onnx_loader(takes: Takes, file: str) -> str:
    """Write the code that loads an ONNX file, embeds images and reads them from files."""
    axes = ".transpose(2, 0, 1)[None]" if takes.channels == 3 else "[None, None]"
    return f'''import numpy as np
import onnxruntime
from PIL import Image, ImageOps

session = onnxruntime.InferenceSession({json.dumps(file)})


def embed(images):
    """Return a row of length 1 for each image, float32 {takes.shape} in 0..1."""
    return session.run(None, {{"images": images}})[0]


{takes.reader(f"np.asarray({{}}, np.float32){axes} / 255")}'''
