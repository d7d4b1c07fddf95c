"""Plain paddings of the region: its own blur, its mean colour, black."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from trainers.object_removal.fills.base import FillDescriptor
from trainers.parameters import parameter
from trainers.registry import NoParameters


@dataclass(frozen=True, kw_only=True)
class BlurParameters:
    """The paper gives no width; here it is a share of the longer side."""

    width: float = parameter(
        0.05, low=0.005, high=0.5, log=True, help="Standard deviation, as a share of the longer side."
    )


def _blur(image: np.ndarray, _mask: np.ndarray, parameters: BlurParameters) -> np.ndarray:
    radius = parameters.width * max(image.shape[:2])
    return np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(radius)))


def _mean(image: np.ndarray, mask: np.ndarray, _parameters: NoParameters) -> np.ndarray:
    colour = np.rint(image[mask].astype(np.float64).mean(axis=0)).astype(np.uint8)
    return np.broadcast_to(colour, image.shape)


def _zero(image: np.ndarray, _mask: np.ndarray, _parameters: NoParameters) -> np.ndarray:
    return np.zeros_like(image)


DESCRIPTORS = (
    FillDescriptor(
        name="blur",
        title="Blur",
        sentence="Blurs the region; a large object stays visible.",
        paper="Kim et al. 2023, table 3: blur padding",
        fill=_blur,
        parameters=BlurParameters,
        order=30,
    ),
    FillDescriptor(
        name="mean",
        title="Mean colour",
        sentence="Paints the region with its own mean colour.",
        paper="Kim et al. 2023, table 3: mean padding",
        fill=_mean,
        order=40,
    ),
    FillDescriptor(
        name="zero",
        title="Black",
        sentence="Paints the region black: the crudest baseline, which a model can learn to recognise.",
        paper="Kim et al. 2023, table 3: zero padding",
        fill=_zero,
        order=50,
    ),
)
