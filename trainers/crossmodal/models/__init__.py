"""Image-text models, one file each.

from trainers.crossmodal.models import MODELS
model = MODELS["tiny_clip"].build({})
"""

import sys

from trainers.catalogue import load
from trainers.crossmodal.base import CrossModal, ModelDescriptor

MODELS = load(sys.modules[__name__])

__all__ = ["MODELS", "CrossModal", "ModelDescriptor"]
