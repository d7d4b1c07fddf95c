"""AutoAugment and RandAugment: transforms of torchvision for each image, with random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.parameters import parameter
from trainers.registry import importing
from trainers.training.augmentations._operations import flip, in_pieces, random_crop
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, Draws, unit

SEEDS = 2**32


def each(images: Tensor, draws: Draws, transform: Callable[[Tensor], Tensor]) -> Tensor:
    """Change every image; torchvision's transforms have one draw for a batch, so they get the images one by one.

    They draw on torch's CPU generator, which is seeded for each image and then put back as it was. On a GPU the images
    stay there, but some of torchvision's operations wait for it.

    Args:
        images: float ``[B, C, H, W]`` in 0..1.
        transform: from uint8 ``[C, H, W]`` to the same.
    """
    pixels = images.mul(255).round_().to(torch.uint8)
    seeds = (draws.take(1)[:, 0] * SEEDS).long().tolist()
    with torch.random.fork_rng(devices=[]):
        changed = []
        for image, seed in zip(pixels, seeds, strict=True):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed the GPUs too
            changed.append(transform(image))
    return torch.stack(changed).float().div_(255)


def crop_and_each(transform: Callable[[Tensor], Tensor], *, smallest: float, channels: int) -> Change:
    """Make a resized crop, a mirror where images have colours, then ``transform`` on each image, see :func:`each`.

    Args:
        smallest: share of the area that the smallest crop has.
    """

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, smallest)
        if channels == COLOUR:
            pixels = flip(pixels, draws.chosen(0.5))
        return each(pixels, draws, transform)

    return in_pieces(change)


@dataclass(frozen=True, kw_only=True)
class AutoAugmentParameters:
    """The policy."""

    policy: str = parameter(
        "imagenet", choices=("imagenet", "cifar10", "svhn"), help="The dataset on which the pairs were searched for."
    )
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")


def _autoaugment(parameters: AutoAugmentParameters, channels: int) -> Change:
    with importing():
        from torchvision.transforms import v2

    transform = v2.AutoAugment(v2.AutoAugmentPolicy(parameters.policy))
    return crop_and_each(transform, smallest=parameters.smallest, channels=channels)


AUTOAUGMENT = AugmentationDescriptor(
    name="autoaugment",
    title="AutoAugment",
    sentence="Resized crop and mirror, then one of 25 pairs of operations that a search found.",
    paper="AutoAugment: Learning Augmentation Strategies from Data, Cubuk et al., CVPR 2019",
    parameters=AutoAugmentParameters,
    make=_autoaugment,
    order=21,
)


MAGNITUDES = 31  # torchvision's number of steps


@dataclass(frozen=True, kw_only=True)
class RandAugmentParameters:
    """The strength of the augmentation."""

    num_ops: int = parameter(2, low=0, high=10, title="Operations", help="Operations on an image, one after another.")
    magnitude: int = parameter(9, low=0, high=MAGNITUDES - 1, help="Strength of each; 0 hardly changes an image.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")


def _randaugment(parameters: RandAugmentParameters, channels: int) -> Change:
    with importing():
        from torchvision.transforms import v2

    transform = v2.RandAugment(parameters.num_ops, parameters.magnitude, MAGNITUDES)
    return crop_and_each(transform, smallest=parameters.smallest, channels=channels)


RANDAUGMENT = AugmentationDescriptor(
    name="randaugment",
    title="RandAugment",
    sentence="Resized crop and mirror, then some of 14 operations at one magnitude.",
    paper="RandAugment: Practical Automated Data Augmentation with a Reduced Search Space, Cubuk et al., NeurIPS 2020",
    parameters=RandAugmentParameters,
    make=_randaugment,
    order=20,
)


DESCRIPTORS = (AUTOAUGMENT, RANDAUGMENT)
