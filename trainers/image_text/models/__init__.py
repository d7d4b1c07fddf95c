"""Image-text models, one file each.

from trainers.image_text.models import MODELS
model = MODELS["tiny_clip"].build({})
"""

import sys

from trainers.image_text.base import ImageTextModel, ModelDescriptor
from trainers.registry import load

MODELS = load(sys.modules[__name__])

__all__ = ["MODELS", "ImageTextModel", "ModelDescriptor"]
