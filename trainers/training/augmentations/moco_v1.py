"""The augmentation of MoCo: resized crop, grey, colour jitter, mirror (He et al., CVPR 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.parameters import parameter
from trainers.training.augmentations._crop import random_crop
from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations._flip import flip
from trainers.training.augmentations._grey import grey
from trainers.training.augmentations._jitter import Jitter, random_jitter
from trainers.training.augmentations._pieces import in_pieces
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, unit


@dataclass(frozen=True, kw_only=True)
class MocoV1Parameters:
    """The strength of the augmentation."""

    strength: float = parameter(1.0, low=0.0, high=2.0, help="Multiplies the colour jitter; 1 is the paper's.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")
    grey: float = parameter(0.2, low=0.0, high=1.0, help="Probability that an image loses its colour.")


def _make(parameters: MocoV1Parameters, channels: int) -> Change:
    jitter = Jitter(strength=parameters.strength)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels != COLOUR:
            return pixels
        pixels = grey(pixels, draws.chosen(parameters.grey))
        pixels = random_jitter(pixels, draws, jitter)
        return flip(pixels, draws.chosen(0.5))

    return in_pieces(change)


DESCRIPTOR = AugmentationDescriptor(
    name="moco_v1",
    title="MoCo v1",
    sentence="Resized crop, grey, strong colour jitter and mirror.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020",
    parameters=MocoV1Parameters,
    make=_make,
    order=10,
)
