"""Object detectors. One family per file.

from trainers.object_removal.detectors import DETECTORS
detect = DETECTORS["ssdlite"].build({})
detections = detect(image)
"""

import sys

from trainers.object_removal.detectors.base import Detections, Detector, DetectorDescriptor
from trainers.registry import load

DETECTORS = load(sys.modules[__name__])

__all__ = ["DETECTORS", "Detections", "Detector", "DetectorDescriptor"]
