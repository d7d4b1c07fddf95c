"""The galleries: which images are searched. Adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.registry import load
from trainers.retrieval.galleries.base import Datasets, Gallery, GalleryDescriptor

GALLERIES = load(sys.modules[__name__])

__all__ = ["GALLERIES", "Datasets", "Gallery", "GalleryDescriptor"]
