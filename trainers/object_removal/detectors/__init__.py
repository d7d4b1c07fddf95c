"""Detectors that draw boxes around the objects of a photo.

from trainers.object_removal.detectors import DETECTORS
detect = DETECTORS["ssdlite"].build({})
found = detect(picture)
"""

import sys

from trainers.object_removal.detectors.base import Detector, DetectorDescriptor, Found
from trainers.registry import load

DETECTORS = load(sys.modules[__name__])

__all__ = ["DETECTORS", "Detector", "DetectorDescriptor", "Found"]
