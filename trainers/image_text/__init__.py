"""Photos and sentences in one space: models, encoding, retrieval scores (Kim et al. 2023).

from trainers.image_text.models import MODELS
from trainers.image_text.encoding import encode_photos, encode_texts
"""
