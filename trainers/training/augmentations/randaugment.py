"""RandAugment: some operations at random, all of one magnitude (Cubuk et al., NeurIPS 2020), after a resized crop."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.parameters import parameter
from trainers.training.augmentations._crop import random_crop
from trainers.training.augmentations._draws import Draws
from trainers.training.augmentations._each import each
from trainers.training.augmentations._flip import flip
from trainers.training.augmentations._pieces import in_pieces
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, unit

MAGNITUDES = 31  # torchvision's number of steps


@dataclass(frozen=True, kw_only=True)
class RandAugmentParameters:
    """How strong it is."""

    num_ops: int = parameter(2, low=0, high=10, title="Operations", help="Operations on an image, one after another.")
    magnitude: int = parameter(9, low=0, high=MAGNITUDES - 1, help="Strength of each; 0 hardly changes an image.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")


def _make(parameters: RandAugmentParameters, channels: int) -> Change:
    from torchvision.transforms import v2

    transform = v2.RandAugment(parameters.num_ops, parameters.magnitude, MAGNITUDES)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels == COLOUR:
            pixels = flip(pixels, draws.chosen(0.5))
        return each(pixels, draws, transform)

    return in_pieces(change)


DESCRIPTOR = AugmentationDescriptor(
    name="randaugment",
    title="RandAugment",
    sentence="Resized crop and mirror, then some of 14 operations at one magnitude.",
    paper="RandAugment: Practical Automated Data Augmentation with a Reduced Search Space, Cubuk et al., NeurIPS 2020",
    parameters=RandAugmentParameters,
    make=_make,
    order=20,
)
