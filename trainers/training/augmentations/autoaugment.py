"""AutoAugment: a pair of operations that a search found, at random (Cubuk et al., CVPR 2019), after a resized crop."""

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


@dataclass(frozen=True, kw_only=True)
class AutoAugmentParameters:
    """Which policy."""

    policy: str = parameter(
        "imagenet", choices=("imagenet", "cifar10", "svhn"), help="The dataset on which the pairs were searched for."
    )
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")


def _make(parameters: AutoAugmentParameters, channels: int) -> Change:
    from torchvision.transforms import v2

    transform = v2.AutoAugment(v2.AutoAugmentPolicy(parameters.policy))

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels == COLOUR:
            pixels = flip(pixels, draws.chosen(0.5))
        return each(pixels, draws, transform)

    return in_pieces(change)


DESCRIPTOR = AugmentationDescriptor(
    name="autoaugment",
    title="AutoAugment",
    sentence="Resized crop and mirror, then one of 25 pairs of operations that a search found.",
    paper="AutoAugment: Learning Augmentation Strategies from Data, Cubuk et al., CVPR 2019",
    parameters=AutoAugmentParameters,
    make=_make,
    order=21,
)
