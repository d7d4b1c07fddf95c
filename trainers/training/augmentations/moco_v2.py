"""The augmentation of MoCo v2: that of SimCLR at half its colour strength, with larger crops (Chen et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.parameters import parameter
from trainers.training.augmentations._blur import random_blur
from trainers.training.augmentations._crop import random_crop
from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations._flip import flip
from trainers.training.augmentations._grey import grey
from trainers.training.augmentations._jitter import Jitter, random_jitter
from trainers.training.augmentations._pieces import in_pieces
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, unit

JITTER_PROBABILITY = 0.8


@dataclass(frozen=True, kw_only=True)
class MocoV2Parameters:
    """The strength of the augmentation."""

    strength: float = parameter(1.0, low=0.0, high=2.0, help="Multiplies the colour jitter; 1 is the paper's.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")
    grey: float = parameter(0.2, low=0.0, high=1.0, help="Probability that an image loses its colour.")
    blur: float = parameter(
        0.5, low=0.0, high=1.0, help="Probability of a blur by 0.1 to 2 pixels; use 0 for images of 32 pixels or less."
    )


def _make(parameters: MocoV2Parameters, channels: int) -> Change:
    jitter = Jitter(hue=0.1, strength=parameters.strength)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels == COLOUR:
            pixels = random_jitter(pixels, draws, jitter, JITTER_PROBABILITY)
            pixels = grey(pixels, draws.chosen(parameters.grey))
            pixels = flip(pixels, draws.chosen(0.5))
        return random_blur(pixels, draws, parameters.blur)

    return in_pieces(change)


DESCRIPTOR = AugmentationDescriptor(
    name="moco_v2",
    title="MoCo v2",
    sentence="Resized crop, colour jitter, grey, blur and mirror.",
    paper="Improved Baselines with Momentum Contrastive Learning, Chen et al., 2020",
    parameters=MocoV2Parameters,
    make=_make,
    order=11,
)
