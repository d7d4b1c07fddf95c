"""What images show without training, beside the losses. Adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.registry import load
from trainers.untrained.ways.base import UntrainedDescriptor

UNTRAINED = load(sys.modules[__name__])

__all__ = ["UNTRAINED", "UntrainedDescriptor"]
