"""The augmentation recipes: how training images are changed, the same for every arm and the same again after a resume.

from trainers.training.augmentations import AUGMENTATIONS
augment = AUGMENTATIONS["moco_v2"].build({"blur": 0.0}, channels=3)
view = augment(images, seed=0, step=7, view=1)
"""

import sys

from trainers.registry import load
from trainers.training.augmentations.base import Augment, AugmentationDescriptor

AUGMENTATIONS = load(sys.modules[__name__])

__all__ = ["AUGMENTATIONS", "Augment", "AugmentationDescriptor"]
