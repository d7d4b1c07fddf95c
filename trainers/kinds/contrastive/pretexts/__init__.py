"""Pretext tasks, one file each: what makes the views of an image that belong together."""

import sys

from trainers.kinds.contrastive.pretexts.base import Augment, PretextDescriptor
from trainers.registry import load

PRETEXTS = load(sys.modules[__name__])

__all__ = ["PRETEXTS", "Augment", "PretextDescriptor"]
