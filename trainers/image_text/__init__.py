"""Images and captions in one space: models, encoding, losses (Kim et al. 2023).

from trainers.image_text.models import MODELS
from trainers.image_text.encoding import encode_images, encode_texts
"""
