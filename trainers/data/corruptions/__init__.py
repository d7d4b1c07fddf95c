"""Common corruptions of images, for the robustness of a classifier: noise, blur, weather, digital.

After Hendrycks and Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR
2019, section 4: 15 corruptions at five severities. They are drawn where the images are, from a seed. They are written
anew, so accuracies on them are not those on the files of ImageNet-C or CIFAR-10-C; where an entry differs from these
by more than random draws, its ``differs`` says how.

from trainers.data.corruptions import CORRUPTIONS, corrupt
images = corrupt(CORRUPTIONS["fog"], images, severity=3, seed=0)
"""

import sys

from trainers.data.corruptions.base import SEVERITIES, CorruptionDescriptor, corrupt
from trainers.registry import load

CORRUPTIONS = load(sys.modules[__name__])

__all__ = ["CORRUPTIONS", "SEVERITIES", "CorruptionDescriptor", "corrupt"]
