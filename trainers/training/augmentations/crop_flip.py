"""Resized crop and mirror: what linear classifiers on frozen encoders are trained on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.parameters import parameter
from trainers.training.augmentations._crop import random_crop
from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations._flip import flip
from trainers.training.augmentations._pieces import in_pieces
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, unit


@dataclass(frozen=True, kw_only=True)
class CropFlipParameters:
    """The size of the crops."""

    smallest: float = parameter(
        0.2,
        low=0.01,
        high=1.0,
        help="Share of the area that the smallest crop has: 0.2 in SupCon's code for CIFAR, 0.08 in MoCo's for "
        "ImageNet.",
    )


def _make(parameters: CropFlipParameters, channels: int) -> Change:
    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        return flip(pixels, draws.chosen(0.5)) if channels == COLOUR else pixels

    return in_pieces(change)


DESCRIPTOR = AugmentationDescriptor(
    name="crop_flip",
    title="Crop and flip",
    sentence="Resized crop and mirror, as linear classifiers on frozen encoders are trained.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020 (linear "
    "classification)",
    parameters=CropFlipParameters,
    make=_make,
    order=2,
)
