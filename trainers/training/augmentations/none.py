"""No augmentation."""

from trainers.training.augmentations.base import AugmentationDescriptor, unit

DESCRIPTOR = AugmentationDescriptor(
    name="none",
    title="None",
    sentence="Images as they are.",
    paper="None",
    make=lambda _parameters, _channels: lambda images, _draws: unit(images),
    order=0,
)
