"""AutoAugment: a pair of operations that a search found, at random (Cubuk et al., CVPR 2019), after a resized crop."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.parameters import parameter
from trainers.registry import importing
from trainers.training.augmentations._each import crop_and_each
from trainers.training.augmentations.base import AugmentationDescriptor, Change


@dataclass(frozen=True, kw_only=True)
class AutoAugmentParameters:
    """The policy."""

    policy: str = parameter(
        "imagenet", choices=("imagenet", "cifar10", "svhn"), help="The dataset on which the pairs were searched for."
    )
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")


def _make(parameters: AutoAugmentParameters, channels: int) -> Change:
    with importing():
        from torchvision.transforms import v2

    transform = v2.AutoAugment(v2.AutoAugmentPolicy(parameters.policy))
    return crop_and_each(transform, smallest=parameters.smallest, channels=channels)


DESCRIPTOR = AugmentationDescriptor(
    name="autoaugment",
    title="AutoAugment",
    sentence="Resized crop and mirror, then one of 25 pairs of operations that a search found.",
    paper="AutoAugment: Learning Augmentation Strategies from Data, Cubuk et al., CVPR 2019",
    parameters=AutoAugmentParameters,
    make=_make,
    order=21,
)
