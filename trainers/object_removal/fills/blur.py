"""The region, blurred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from trainers.object_removal.fills.base import FillDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class BlurParameters:
    """The paper gives no width; here it is a share of the longer side."""

    width: float = parameter(
        0.05, low=0.005, high=0.5, log=True, help="Standard deviation, as a share of the longer side."
    )


def _fill(image: np.ndarray, _mask: np.ndarray, parameters: BlurParameters) -> np.ndarray:
    radius = parameters.width * max(image.shape[:2])
    return np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(radius)))


DESCRIPTOR = FillDescriptor(
    name="blur",
    title="Blur",
    sentence="Blurs the region; a large object stays visible.",
    paper="Kim et al. 2023, table 3: blur padding",
    fill=_fill,
    parameters=BlurParameters,
    order=30,
)
