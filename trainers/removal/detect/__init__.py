"""Detectors that draw boxes around the objects of a photo.

from trainers.removal.detect import DETECTORS
detect = DETECTORS["ssdlite"].build({})
found = detect(picture)
"""

import sys

from trainers.catalogue import load
from trainers.removal.detect.base import Detector, DetectorDescriptor, Found

DETECTORS = load(sys.modules[__name__])

__all__ = ["DETECTORS", "Detector", "DetectorDescriptor", "Found"]
