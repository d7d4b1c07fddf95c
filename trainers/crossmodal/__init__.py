"""Photos and sentences in one space: models, encoding, retrieval scores (Kim et al. 2023).

from trainers.crossmodal.models import MODELS
from trainers.crossmodal.encode import encode_photos, encode_texts
"""
