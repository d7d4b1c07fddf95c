"""The augmentation of SimCLR: resized crop, mirror, colour jitter, grey, blur (Chen et al., ICML 2020)."""

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
class SimclrParameters:
    """The strength of the augmentation."""

    strength: float = parameter(
        1.0, low=0.0, high=2.0, help="s of the paper: jitter of 0.8 s, and 0.2 s for the hue; 0.5 for CIFAR."
    )
    smallest: float = parameter(0.08, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")
    grey: float = parameter(0.2, low=0.0, high=1.0, help="Probability that an image loses its colour.")
    blur: float = parameter(
        0.5, low=0.0, high=1.0, help="Probability of a blur by 0.1 to 2 pixels; the paper has none on CIFAR."
    )


def _make(parameters: SimclrParameters, channels: int) -> Change:
    jitter = Jitter(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2, strength=parameters.strength)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels == COLOUR:
            pixels = flip(pixels, draws.chosen(0.5))
            pixels = random_jitter(pixels, draws, jitter, JITTER_PROBABILITY)
            pixels = grey(pixels, draws.chosen(parameters.grey))
        return random_blur(pixels, draws, parameters.blur)

    return in_pieces(change)


DESCRIPTOR = AugmentationDescriptor(
    name="simclr",
    title="SimCLR",
    sentence="Small resized crops, mirror, the strongest colour jitter, grey and blur.",
    paper="A Simple Framework for Contrastive Learning of Visual Representations, Chen et al., ICML 2020",
    parameters=SimclrParameters,
    make=_make,
    order=12,
)
