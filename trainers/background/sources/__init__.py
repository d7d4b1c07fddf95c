"""Where images with a known object come from, one file each; adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.background.sources.base import ObjectRequest, ObjectSource
from trainers.registry import load

OBJECT_SOURCES = load(sys.modules[__name__])

__all__ = ["OBJECT_SOURCES", "ObjectRequest", "ObjectSource"]
