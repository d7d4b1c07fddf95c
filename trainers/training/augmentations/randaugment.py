"""RandAugment: some operations at random, all of one magnitude (Cubuk et al., NeurIPS 2020), after a resized crop."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.parameters import parameter
from trainers.registry import importing
from trainers.training.augmentations._each import crop_and_each
from trainers.training.augmentations.base import AugmentationDescriptor, Change

MAGNITUDES = 31  # torchvision's number of steps


@dataclass(frozen=True, kw_only=True)
class RandAugmentParameters:
    """The strength of the augmentation."""

    num_ops: int = parameter(2, low=0, high=10, title="Operations", help="Operations on an image, one after another.")
    magnitude: int = parameter(9, low=0, high=MAGNITUDES - 1, help="Strength of each; 0 hardly changes an image.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")


def _make(parameters: RandAugmentParameters, channels: int) -> Change:
    with importing():
        from torchvision.transforms import v2

    transform = v2.RandAugment(parameters.num_ops, parameters.magnitude, MAGNITUDES)
    return crop_and_each(transform, smallest=parameters.smallest, channels=channels)


DESCRIPTOR = AugmentationDescriptor(
    name="randaugment",
    title="RandAugment",
    sentence="Resized crop and mirror, then some of 14 operations at one magnitude.",
    paper="RandAugment: Practical Automated Data Augmentation with a Reduced Search Space, Cubuk et al., NeurIPS 2020",
    parameters=RandAugmentParameters,
    make=_make,
    order=20,
)
